"""What all optimizers share: groups, rates, decay, and what users' own optimizers build on."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia._engine.runtime.eager.dispatch  # noqa: F401
from mycelia.nn.cell import Cell
from mycelia.nn.learning_rate_schedule import ExponentialDecayLR
from mycelia.nn.optim import (
    FTRL,
    LARS,
    SGD,
    Adadelta,
    Adam,
    AdaMax,
    Lamb,
    LazyAdam,
    Momentum,
    Optimizer,
    ProximalAdagrad,
    RMSProp,
)
from mycelia.ops.elementwise.arithmetic import mul, sub
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor


def tensor(*numbers: float) -> Tensor:
    return Tensor(np.array(numbers, np.float32))


def parameters() -> list[Parameter]:
    return [
        Parameter(tensor(1, 2), name="fc.weight"),
        Parameter(tensor(3), name="fc.bias"),
        Parameter(tensor(4), name="bn.gamma"),
    ]


def ones(optimizer: Optimizer) -> tuple[Tensor, ...]:
    return tuple(Tensor(np.ones(p.shape, np.float32)) for p in optimizer.parameters)


def paths(optimizer: Cell) -> list[tuple[str, str]]:
    return [(path, p.name) for path, p in optimizer.parameters_and_names()]


# ---- learning rates -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rate", [0.5, 1, True, Tensor(np.float64(0.5)), Tensor(np.int32(1))], ids=repr
)
def test_a_fixed_rate_is_a_parameter(rate):
    optimizer = Momentum(parameters(), rate, 0.9)
    found = optimizer.get_lr()
    assert found is optimizer.learning_rate
    assert found.name == "learning_rate" and found.shape == () and str(found.dtype) == "Float32"
    assert float(found) == float(rate)


@pytest.mark.parametrize(
    "rates",
    [[0.5, 1], (0.5, 1), np.array([0.5, 1]), tensor(0.5, 1), iter([0.5, 1.0])],
    ids=lambda r: type(r).__name__,
)
def test_a_list_of_rates_is_read_step_by_step(rates):
    optimizer = Momentum(parameters(), rates, 0.9)
    assert paths(optimizer)[-1] == ("learning_rate.learning_rate", "learning_rate")
    assert float(optimizer.get_lr()) == 0.5
    optimizer(ones(optimizer))
    assert optimizer.get_lr().shape == () and float(optimizer.get_lr()) == 1.0
    optimizer(ones(optimizer))
    with pytest.raises(RuntimeError, match="too short"):
        optimizer(ones(optimizer))


def test_a_changed_rate_holds_from_the_next_step():
    params = parameters()
    optimizer = SGD(params, 0.5)
    optimizer.learning_rate.set_data(Tensor(np.float32(2.0)))
    optimizer(ones(optimizer))
    assert params[1].asnumpy().tolist() == [1.0]


@pytest.mark.parametrize(
    ("rate", "error"),
    [
        (-1.0, ValueError),
        (None, TypeError),
        (np.float32(0.1), TypeError),
        (Tensor(np.ones((1, 1), np.float32)), ValueError),
        ("a", ValueError),
        ([0.1, "a"], ValueError),
    ],
)
def test_wrong_rates_are_refused(rate, error):
    with pytest.raises(error):
        Momentum(parameters(), rate, 0.9)


# ---- groups ---------------------------------------------------------------------------------


def test_groups_name_their_rates_by_place():
    a, b, c = parameters()
    optimizer = Momentum([{"params": [a]}, {"params": [b], "lr": 0.3}, {"params": [c]}], 0.1, 0.9)
    assert [name for _, name in paths(optimizer)[:3]] == [
        "global_step",
        "learning_rate",
        "learning_rate_group_1",
    ]
    assert [rate.name for rate in optimizer.get_lr()] == [
        "learning_rate",
        "learning_rate_group_1",
        "learning_rate",
    ]
    assert optimizer.get_lr_parameter(b).name == "learning_rate_group_1"
    assert [r.name for r in optimizer.get_lr_parameter([a, b])] == [
        "learning_rate",
        "learning_rate_group_1",
    ]


def test_one_changing_rate_makes_all_of_them_cells():
    a, b, c = parameters()
    optimizer = Momentum([{"params": [a, b], "lr": [0.5, 0.25]}, {"params": [c]}], 0.1, 0.9)
    assert paths(optimizer)[-2:] == [
        ("learning_rate.0.learning_rate", "learning_rate_group_0"),
        ("learning_rate.2.learning_rate", "learning_rate"),
    ]
    assert [round(float(rate), 6) for rate in optimizer.get_lr()] == [0.5, 0.5, 0.1]
    assert optimizer.get_lr_parameter(c).name == "learning_rate"


def test_a_schedule_is_found_behind_its_parameters():
    a, b, c = parameters()
    schedule = ExponentialDecayLR(0.5, 0.5, 1)
    optimizer = Momentum([{"params": [a], "lr": schedule}, {"params": [b, c]}], 0.1, 0.9)
    assert optimizer.get_lr_parameter(a) is schedule


def test_groups_without_rates_share_one():
    a, b, c = parameters()
    optimizer = Momentum([{"params": [a], "weight_decay": 0.1}, {"params": [b, c]}], 0.1, 0.9)
    assert optimizer.get_lr().name == "learning_rate"


def test_gradients_come_in_the_order_of_order_params():
    a, b, c = parameters()
    groups = [{"params": [c, a], "lr": 0.5}, {"params": [b]}, {"order_params": [b, a, c]}]
    optimizer = Momentum(groups, 0.1, 0.9)
    assert optimizer.parameters == (b, a, c)
    assert optimizer.is_group_params_ordered


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda p: None, ValueError),
        (lambda p: [], ValueError),
        (lambda p: 3, TypeError),
        (lambda p: Cell(), TypeError),
        (lambda p: ["a"], TypeError),
        (lambda p: [p[0], {"params": p[1:]}], TypeError),
        (lambda p: [{"params": p[1:]}, p[0]], TypeError),
        (lambda p: [*p, p[0]], ValueError),
        (lambda p: [*p, Parameter(tensor(1), name="fc.bias")], ValueError),
        (lambda p: [{}], KeyError),
        (lambda p: [{"lr": 0.1}], KeyError),
        (lambda p: [{"params": p, "rate": 0.1}], KeyError),
        (lambda p: [{"params": []}], ValueError),
        (lambda p: [{"params": ["a"]}], TypeError),
        (lambda p: [{"params": p}, {"params": p[:1]}], RuntimeError),
        (lambda p: [{"params": p}, {"order_params": p[:1]}], ValueError),
        (lambda p: [{"params": p[:2]}, {"order_params": p}], ValueError),
        (lambda p: [{"params": p}, {"order_params": p, "lr": 0.1}], ValueError),
        (lambda p: [{"params": p, "lr": -0.1}], ValueError),
        (lambda p: [{"params": p, "weight_decay": -0.1}], ValueError),
        (lambda p: [{"params": p, "weight_decay": "a"}], TypeError),
        (lambda p: [{"params": p, "grad_centralization": 1}], TypeError),
        (
            lambda p: [{"params": p[:1], "lr": [0.1, 0.2]}, {"params": p[1:], "lr": [0.1]}],
            ValueError,
        ),
    ],
)
def test_wrong_parameters_are_refused(make, error):
    with pytest.raises(error):
        Momentum(make(parameters()), 0.1, 0.9)


# ---- weight decay ---------------------------------------------------------------------------


def test_decay_for_all_leaves_out_beta_and_gamma():
    assert Momentum(parameters(), 0.1, 0.9, 0.1).decay_flags == (True, True, False)


def test_decay_in_groups_holds_for_every_name():
    groups = [{"params": parameters()}]
    assert Momentum(groups, 0.1, 0.9, 0.1).decay_flags == (True, True, True)


def test_ftrl_decays_every_name():
    assert FTRL(parameters(), weight_decay=0.1).decay_flags == (True, True, True)


def test_the_shown_decay_carries_the_loss_scale():
    optimizer = Momentum(parameters(), 0.1, 0.9, 0.5, 4.0)
    assert float(optimizer.get_weight_decay()) == 2.0
    changing = Momentum(parameters(), 0.1, 0.9, ExponentialDecayLR(0.5, 0.5, 1), 4.0)
    assert changing.get_weight_decay().asnumpy().tolist() == [2.0]
    grouped = Momentum([{"params": parameters(), "weight_decay": 0.5}], 0.1, 0.9, 0.1, 4.0)
    assert [float(decay) for decay in grouped.get_weight_decay()] == [2.0] * 3


@pytest.mark.parametrize(
    ("decay", "error"), [(-1.0, ValueError), ("a", TypeError), (tensor(1), TypeError)]
)
def test_wrong_decays_are_refused(decay, error):
    with pytest.raises(error):
        Momentum(parameters(), 0.1, 0.9, decay)


@pytest.mark.parametrize(
    ("scale", "error"), [(0.0, ValueError), (-1.0, ValueError), ("a", TypeError)]
)
def test_wrong_loss_scales_are_refused(scale, error):
    with pytest.raises(error):
        Momentum(parameters(), 0.1, 0.9, loss_scale=scale)


# ---- users' own optimizers ------------------------------------------------------------------


class Plain(Optimizer):
    """Gradient descent written by a user."""

    def __init__(self, params, learning_rate):
        super().__init__(learning_rate, params, weight_decay=0.5, loss_scale=2.0)
        self.seen = self.parameters.clone("seen", "zeros")

    def construct(self, gradients):
        gradients = self.scale_grad(self.decay_weight(self.flatten_gradients(gradients)))
        rate = self.get_lr()
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.set_data(sub(parameter, mul(rate, gradient)))
        return gradients


def test_a_users_optimizer_decays_scales_and_steps():
    params = parameters()
    optimizer = Plain(params, 1.0)
    assert [name for _, name in paths(optimizer)[-3:]] == [
        "seen.fc.weight",
        "seen.fc.bias",
        "seen.bn.gamma",
    ]
    gradients = optimizer(ones(optimizer))
    assert [g.asnumpy().tolist() for g in gradients] == [[1.0, 1.5], [2.0], [0.5]]
    assert params[2].asnumpy().tolist() == [3.5]
    assert optimizer.global_step.asnumpy().tolist() == [0]


def test_the_base_class_updates_nothing():
    optimizer = Optimizer(0.1, parameters())
    with pytest.raises(NotImplementedError):
        optimizer(ones(optimizer))


# ---- calling --------------------------------------------------------------------------------


def test_a_call_counts_and_gives_true_for_each_parameter():
    optimizer = Momentum(parameters(), 0.1, 0.9)
    assert optimizer(ones(optimizer)) == (True, True, True)
    assert optimizer.global_step.asnumpy().tolist() == [1]
    assert optimizer.global_step.shape == (1,)
    assert str(optimizer.global_step.dtype) == "Int32"


def test_gradients_of_another_dtype_are_taken():
    params = parameters()
    optimizer = SGD(params, 1.0)
    optimizer(tuple(Tensor(np.ones(p.shape, np.float16)) for p in params))
    assert str(params[0].dtype) == "Float32"
    assert params[0].asnumpy().tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("gradients", "error"),
    [
        ((tensor(1, 1),), RuntimeError),
        (tensor(1, 1), TypeError),
        ((tensor(1, 1, 1), tensor(1), tensor(1)), ValueError),
    ],
)
def test_wrong_gradients_are_refused(gradients, error):
    optimizer = Momentum(parameters(), 0.1, 0.9)
    with pytest.raises(error):
        optimizer(gradients)


@pytest.mark.parametrize(
    ("param", "error"), [("a", TypeError), (3, TypeError), (Parameter(tensor(1)), ValueError)]
)
def test_rates_of_strangers_are_not_found(param, error):
    optimizer = Momentum(parameters(), 0.1, 0.9)
    with pytest.raises(error):
        optimizer.get_lr_parameter(param)
    with pytest.raises(TypeError):
        optimizer.get_lr_parameter(ParameterTuple(optimizer.parameters))


def test_target_and_unique():
    optimizer = Momentum(parameters(), 0.1, 0.9)
    assert optimizer.target == "CPU" and optimizer.unique is True
    with pytest.raises(NotImplementedError):
        optimizer.target = "CPU"
    with pytest.raises(TypeError):
        optimizer.unique = 1
    optimizer.unique = False
    assert optimizer.unique is False
    adam = Adam(parameters())
    adam.target = "CPU"
    for target, error in (("GPU", ValueError), ("here", ValueError), (1, TypeError)):
        with pytest.raises(error):
            adam.target = target


def test_an_optimizer_in_a_network_keeps_its_state_in_the_tree():
    class Training(Cell):
        def __init__(self, optimizer):
            super().__init__(auto_prefix=False)
            self.optimizer = optimizer

    training = Training(Adam(parameters()[:1]))
    assert [p.name for p in training.get_parameters()] == [
        "global_step",
        "learning_rate",
        "fc.weight",
        "beta1_power",
        "beta2_power",
        "moment1.fc.weight",
        "moment2.fc.weight",
    ]


# ---- arguments of the optimizers ------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda p: SGD(p, momentum=-0.1), ValueError),
        (lambda p: SGD(p, momentum="a"), TypeError),
        (lambda p: SGD(p, dampening=-1.0), ValueError),
        (lambda p: SGD(p, nesterov=True), ValueError),
        (lambda p: SGD(p, momentum=0.9, dampening=0.1, nesterov=True), ValueError),
        (lambda p: SGD(p, nesterov=1), TypeError),
        (lambda p: Momentum(p, 0.1, -0.1), ValueError),
        (lambda p: Momentum(p, 0.1, 1), TypeError),
        (lambda p: Momentum(p, 0.1, 0.9, use_nesterov=1), TypeError),
        (lambda p: Adam(p, beta1=0.0), ValueError),
        (lambda p: Adam(p, beta2=1.0), ValueError),
        (lambda p: Adam(p, beta1=1), TypeError),
        (lambda p: Adam(p, eps=0.0), ValueError),
        (lambda p: Adam(p, eps=1), TypeError),
        (lambda p: Adam(p, use_amsgrad=1), TypeError),
        (lambda p: Adam(p, use_magic=True), KeyError),
        (lambda p: Adam(p, use_lazy=1), TypeError),
        (lambda p: Adam(p, use_lazy=True, use_offload=True), ValueError),
        (lambda p: Adam(p, use_lazy=True, use_amsgrad=True), ValueError),
        (lambda p: Lamb(p, 0.1, beta1=1.0), ValueError),
        (lambda p: RMSProp(p, decay=-0.1), ValueError),
        (lambda p: RMSProp(p, momentum=1), TypeError),
        (lambda p: RMSProp(p, epsilon=0.0), ValueError),
        (lambda p: RMSProp(p, centered=1), TypeError),
        (lambda p: FTRL(p, initial_accum=-1.0), ValueError),
        (lambda p: FTRL(p, lr_power=0.5), ValueError),
        (lambda p: FTRL(p, lr_power=-1), TypeError),
        (lambda p: FTRL(p, l1=-1.0), ValueError),
        (lambda p: FTRL(p, learning_rate=0.0), ValueError),
        (lambda p: FTRL(p, learning_rate=1), TypeError),
        (lambda p: FTRL(p, learning_rate=[0.1, 0.2]), ValueError),
        (lambda p: FTRL([{"params": p, "lr": 0.1}]), ValueError),
        (lambda p: AdaMax(p, beta1=0.0), ValueError),
        (lambda p: AdaMax(p, eps=1), TypeError),
        (lambda p: Adadelta(p, rho=1.1), ValueError),
        (lambda p: Adadelta(p, rho=1), TypeError),
        (lambda p: Adadelta(p, epsilon=-1.0), ValueError),
        (lambda p: ProximalAdagrad(p, accum=-0.1), ValueError),
        (lambda p: ProximalAdagrad(p, l1=1), TypeError),
        (lambda p: ProximalAdagrad(p, use_locking=1), TypeError),
        (lambda p: LazyAdam(p, beta2=1.0), ValueError),
        (lambda p: LARS(Momentum(p, 0.1, 0.9), epsilon=1), TypeError),
        (lambda p: LARS(Momentum(p, 0.1, 0.9), use_clip=1), TypeError),
        (lambda p: LARS(3), TypeError),
    ],
)
def test_wrong_arguments_are_refused(make, error):
    with pytest.raises(error):
        make(parameters())
