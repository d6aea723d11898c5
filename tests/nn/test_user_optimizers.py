"""Optimizers that users write as MindSpore's model zoo does; expected losses are the real one's."""

from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia.ops import functional as F
from mycelia.ops import operations as P
from mycelia.ops.control import composite as C

_adam = C.MultitypeFuncGraph("adam")


@_adam.register(*["Tensor"] * 9, "Bool", "Bool")
def _adam_step(beta1, beta2, eps, lr, decay, param, m, v, gradient, decays, updates):
    if not updates:
        return gradient
    next_m = beta1 * m + (1.0 - beta1) * gradient
    next_v = beta2 * v + (1.0 - beta2) * P.Square()(gradient)
    update = next_m / (eps + P.Sqrt()(next_v))
    if decays:
        update = P.Mul()(decay, param) + update
    result = param - P.Reshape()(P.Mul()(lr, update), P.Shape()(param))
    result = F.depend(result, F.assign(param, result))
    result = F.depend(result, F.assign(m, next_m))
    return F.depend(result, F.assign(v, next_v))


class AdamWeightDecay(nn.Optimizer):
    def __init__(self, params: Any, learning_rate: Any, weight_decay: float) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.beta1, self.beta2, self.eps = Tensor([0.9]), Tensor([0.999]), Tensor([1e-6])
        self.moments1 = self.parameters.clone(prefix="adam_m", init="zeros")
        self.moments2 = self.parameters.clone(prefix="adam_v", init="zeros")
        self.hyper_map = C.HyperMap()

    def construct(self, gradients: Any) -> Any:
        lr, decay = self.get_lr(), self.get_weight_decay()
        state = self.parameters, self.moments1, self.moments2, gradients
        flags = self.decay_flags, self.optim_filter
        first = self.beta1, self.beta2, self.eps
        if self.is_group and self.is_group_lr:
            result = self.hyper_map(F.partial(_adam, *first), lr, decay, *state, *flags)
        elif self.is_group:
            result = self.hyper_map(F.partial(_adam, *first, lr), decay, *state, *flags)
        else:
            result = self.hyper_map(F.partial(_adam, *first, lr, decay), *state, *flags)
        if self.use_parallel:
            self.broadcast_params(result)
        return result


_momentum = C.MultitypeFuncGraph("momentum")


@_momentum.register("Tensor", "Number", "Tensor", "Tensor", "Tensor")
def _momentum_step(lr, decay, param, moment, gradient):
    moment_now = moment * 0.9 + gradient
    step = lr * (moment_now + decay * param)
    return F.depend(True, (F.assign(moment, moment_now), F.assign(param, param - step)))


class DecoupledMomentum(nn.Optimizer):
    def __init__(self, params: Any, learning_rate: Any = 0.1) -> None:
        super().__init__(learning_rate, params, 0.01, 2.0)
        self.moments = self.parameters.clone(prefix="moments", init="zeros")
        self.assignadd = P.AssignAdd()

    def construct(self, gradients: Any) -> Any:
        gradients = self.flatten_gradients(gradients)
        gradients = self.decay_weight(gradients)
        gradients = self.gradients_centralization(gradients)
        gradients = self.scale_grad(gradients)
        lr = self.get_lr()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        return self.map_(F.partial(_momentum, lr, 0.01), self.parameters, self.moments, gradients)


class ClippedMomentum(nn.Momentum):
    def construct(self, gradients: Any) -> Any:
        return super().construct(tuple(ops.clip_by_value(g, -0.1, 0.1) for g in gradients))


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        weight = Tensor(np.arange(6.0).reshape(2, 3).astype(np.float32) / 10)
        self.dense = nn.Dense(3, 2, weight_init=weight, bias_init="zeros")
        self.gamma = Parameter(Tensor([1.0, 2.0]), name="gamma")

    def construct(self, x: Any) -> Any:
        return self.dense(x) * self.gamma


def decay_groups(parameters: Any) -> Any:
    return [{"params": parameters[:2], "weight_decay": 0.05}, {"params": parameters[2:]}]


def rate_groups(parameters: Any) -> Any:
    return [
        {"params": parameters[:2], "lr": 0.05},
        {"params": parameters[2:], "weight_decay": 0.01},
    ]


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize(
    ("make", "loss"),
    [
        (lambda p: AdamWeightDecay(p, 0.01, 0.02), 4.02965),
        (lambda p: AdamWeightDecay(decay_groups(p), 0.01, 0.02), 4.01565),
        (lambda p: AdamWeightDecay(rate_groups(p), 0.01, 0.02), 0.30429),
        (lambda p: AdamWeightDecay(p, nn.ExponentialDecayLR(0.1, 0.9, 1), 0.02), 3.31167),
        (lambda p: AdamWeightDecay(p, [0.1, 0.05, 0.01], 0.02), 3.31167),
    ],
)
def test_weight_decay_adam_of_the_zoo(make, loss, mode):
    assert train(make, mode)[0] == pytest.approx(loss, rel=1e-4)


@pytest.mark.parametrize(
    "make",
    [
        DecoupledMomentum,
        lambda p: DecoupledMomentum(p, nn.CosineDecayLR(0.01, 0.1, 5)),
        lambda p: DecoupledMomentum(p, [0.1, 0.05, 0.01]),
        lambda p: ClippedMomentum(p, 0.1, 0.9),
    ],
)
def test_both_modes_train_alike_and_count_steps(make):
    eager, graph = train(make, ms.PYNATIVE_MODE), train(make, ms.GRAPH_MODE)
    assert eager[0] == pytest.approx(graph[0], rel=1e-5) and eager[1] == graph[1] == 3


def train(make: Any, mode: int) -> tuple[float, int]:
    """The loss of the third step, and how many steps the optimizer counted."""
    ms.set_context(mode=mode)
    network = Net()
    optimizer = make(network.trainable_params())
    step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), optimizer).set_train()
    x = Tensor(np.array([[1, 2, 3], [0.5, -1, 2]], np.float32))
    y = Tensor(np.array([[1, 0], [0, 1]], np.float32))
    for _ in range(3):
        loss = step(x, y)
    return float(loss), int(optimizer.global_step.asnumpy()[0])
