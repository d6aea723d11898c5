"""Cells around networks: losses, gradients, training steps, loss scaling."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn

X = Tensor(np.ones((4, 3), np.float32))
Y = Tensor(np.zeros((4, 2), np.float32))


def _network() -> nn.Dense:
    """Gives 3 for rows of ones, so the mean squared error against 0 is 9."""
    return nn.Dense(3, 2, weight_init="ones", bias_init="zeros")


def _with_loss(network: nn.Cell) -> nn.WithLossCell:
    return nn.WithLossCell(network, nn.MSELoss())


def _sgd(network: nn.Cell) -> nn.Cell:
    return nn.SGD(network.trainable_params(), 0.1)


class TwoOutputs(nn.Cell):
    """A loss and the predictions it was computed from."""

    def __init__(self, network: nn.Cell):
        super().__init__(auto_prefix=False)
        self.network = network

    def construct(self, x):
        y = self.network(x)
        return y.sum(), y


def test_a_network_with_its_loss():
    network = _network()
    cell = _with_loss(network)
    assert float(cell(X, Y)) == 9
    assert cell.backbone_network is network
    assert [p.name for p in cell.get_parameters()] == ["weight", "bias"]


def test_a_loss_may_be_a_function():
    cell = nn.WithLossCell(_network(), lambda x, y: (x - y).sum())
    assert float(cell(X, Y)) == 24


def test_evaluation_gives_loss_outputs_and_labels():
    loss, outputs, labels = nn.WithEvalCell(_network(), nn.MSELoss())(X, Y)
    assert float(loss) == 9 and outputs.shape == (4, 2)
    np.testing.assert_array_equal(labels.asnumpy(), Y.asnumpy())


def test_evaluation_in_single_precision():
    network = _network().to_float(ms.float16)
    assert nn.WithEvalCell(network, nn.MSELoss())(X, Y)[1].dtype is ms.float16
    assert nn.WithEvalCell(network, nn.MSELoss(), True)(X, Y)[1].dtype is ms.float32
    with pytest.raises(TypeError):
        nn.WithEvalCell(network, nn.MSELoss(), 3)


@pytest.mark.parametrize(("sens", "factor"), [(None, 1), (2.0, 2), (Tensor(2.0), 2)])
def test_gradients_of_a_network(sens: object, factor: int):
    weight, bias = nn.WithGradCell(_network(), nn.MSELoss(), sens)(X, Y)
    np.testing.assert_allclose(weight.asnumpy(), np.full((2, 3), 3.0 * factor))
    np.testing.assert_allclose(bias.asnumpy(), [3.0 * factor] * 2)


def test_gradients_without_a_loss_function():
    weight, _ = nn.WithGradCell(_with_loss(_network()))(X, Y)
    np.testing.assert_allclose(weight.asnumpy(), np.full((2, 3), 3.0))


@pytest.mark.parametrize(
    ("sens", "factor"),
    [(None, 1), (2.0, 2), (2, 2), (Tensor(2.0), 2), (Tensor([2.0]), 2)],
)
def test_a_training_step(sens: object, factor: int):
    network = _network()
    step = nn.TrainOneStepCell(_with_loss(network), _sgd(network), sens)
    assert float(step(X, Y)) == 9
    np.testing.assert_allclose(network.bias.asnumpy(), [-0.3 * factor] * 2, rtol=1e-6)
    assert float(step(X, Y)) < 9


def test_a_training_step_gives_gradients_by_name():
    network = _network()
    step = nn.TrainOneStepCell(_with_loss(network), _sgd(network), return_grad=True)
    loss, gradients = step(X, Y)
    assert float(loss) == 9
    assert list(gradients) == ["weight", "bias"]
    np.testing.assert_allclose(gradients["bias"].asnumpy(), [3, 3])


def test_a_training_step_of_a_network_with_two_outputs():
    network = _network()
    loss, outputs = nn.TrainOneStepCell(TwoOutputs(network), _sgd(network), 2.0)(X)
    assert float(loss) == 24 and outputs.shape == (4, 2)
    np.testing.assert_allclose(network.bias.asnumpy(), [-1.6, -1.6], rtol=1e-6)


def test_a_training_step_runs_the_network_once():
    calls = []

    class Counting(nn.Cell):
        def __init__(self):
            super().__init__()
            self.weight = Parameter(Tensor([1.0]), name="weight")

        def construct(self, x):
            calls.append(1)
            return (self.weight * x).sum()

    network = Counting()
    nn.TrainOneStepCell(network, _sgd(network))(Tensor([2.0]))
    nn.TrainOneStepCell(network, _sgd(network), 8.0)(Tensor([2.0]))
    assert len(calls) == 2


def test_a_subclass_may_spell_the_step_out():
    class Clipped(nn.TrainOneStepCell):
        def construct(self, *inputs):
            loss = self.network(*inputs)
            sens = ms.ops.fill(loss.dtype, loss.shape, self.sens)
            gradients = self.grad(self.network, self.weights)(*inputs, sens)
            gradients = tuple(ms.ops.minimum(g, 1.0) for g in gradients)
            self.optimizer(self.grad_reducer(gradients))
            return loss

    network = _network()
    assert float(Clipped(_with_loss(network), _sgd(network))(X, Y)) == 9
    np.testing.assert_allclose(network.bias.asnumpy(), [-0.1, -0.1], rtol=1e-6)


def test_value_and_gradients_of_a_cell():
    network = _network()
    cell, weights = _with_loss(network), network.trainable_params()
    value, first = nn.ForwardValueAndGrad(cell)(X, Y)
    assert float(value) == 9 and first.shape == (4, 3)
    _, inputs = nn.ForwardValueAndGrad(cell, get_all=True)(X, Y)
    assert [g.shape for g in inputs] == [(4, 3), (4, 2)]
    _, listed = nn.ForwardValueAndGrad(cell, weights, get_by_list=True)(X, Y)
    assert [g.shape for g in listed] == [(2, 3), (2,)]
    _, both = nn.ForwardValueAndGrad(cell, weights, get_all=True, get_by_list=True)(X, Y)
    assert [len(part) for part in both] == [2, 2]


@pytest.mark.parametrize("sens", [2.0, 2, Tensor(2.0), Tensor([2.0])])
def test_value_and_gradients_from_a_given_start(sens: object):
    cell = _with_loss(_network())
    _, plain = nn.ForwardValueAndGrad(cell)(X, Y)
    value, doubled = nn.ForwardValueAndGrad(cell, sens_param=True)(X, Y, sens)
    assert float(value) == 9 and value.shape == ()
    np.testing.assert_allclose(doubled.asnumpy(), 2 * plain.asnumpy(), rtol=1e-6)


def test_wrong_arguments_of_value_and_gradients():
    cell = _with_loss(_network())
    with pytest.raises(TypeError):
        nn.ForwardValueAndGrad(3)
    with pytest.raises(TypeError):
        nn.ForwardValueAndGrad(cell, get_all=3)
    with pytest.raises(TypeError):
        nn.ForwardValueAndGrad(cell, get_by_list=True)


def test_setting_a_parameter():
    network = _network()
    cell = nn.ParameterUpdate(network.weight)
    result = cell(Tensor(np.full((2, 3), 5.0, np.float32)))
    assert (network.weight.asnumpy() == 5).all() and (result.asnumpy() == 5).all()
    with pytest.raises(ValueError):
        cell(Tensor(np.ones((2, 4), np.float32)))
    with pytest.raises(TypeError):
        nn.ParameterUpdate(Tensor([1.0]))


@pytest.mark.parametrize(
    "scale",
    [Tensor(8.0), Tensor([8.0]), nn.FixedLossScaleUpdateCell(8)],
)
def test_a_step_with_a_scaled_loss_updates_as_without(scale: object):
    network = _network()
    step = nn.TrainOneStepWithLossScaleCell(_with_loss(network), _sgd(network), scale)
    loss, overflow, used = step(X, Y)
    assert float(loss) == 9 and not bool(overflow) and float(used) == 8
    np.testing.assert_allclose(network.bias.asnumpy(), [-0.3, -0.3], rtol=1e-6)


def test_a_scaled_step_on_a_single_number():
    class Square(nn.Cell):
        def __init__(self):
            super().__init__()
            self.weight = Parameter(Tensor(3.0), name="weight")

        def construct(self, x):
            return self.weight * self.weight * x

    network = Square()
    step = nn.TrainOneStepWithLossScaleCell(network, _sgd(network), Tensor([8.0]))
    loss, _, _ = step(Tensor(0.5))
    assert loss.shape == () and float(loss) == 4.5
    assert network.weight.shape == () and float(network.weight) == pytest.approx(2.7)


def test_a_step_that_overflows_updates_nothing_and_shrinks_the_scale():
    network = _network()
    scale = nn.DynamicLossScaleUpdateCell(2**10, 2, 2)
    step = nn.TrainOneStepWithLossScaleCell(_with_loss(network), _sgd(network), scale)
    infinite = Tensor(np.full((4, 3), np.inf, np.float32))
    _, overflow, used = step(infinite, Y)
    assert bool(overflow) and float(used) == 1024
    assert float(step.scale_sense) == 512
    assert (network.bias.asnumpy() == 0).all()
    scales = []
    for _ in range(3):
        _, overflow, _ = step(X, Y)
        assert not bool(overflow)
        scales.append(float(step.scale_sense))
    assert scales == [512, 1024, 1024]
    assert (network.bias.asnumpy() != 0).all()


def test_a_dynamic_scale_as_the_real_one():
    cell = nn.DynamicLossScaleUpdateCell(2**10, 2, 3)
    scale = Parameter(Tensor([1024.0]), name="scale")
    seen = []
    for overflow in (True, False, False, False, False, False, False, True, True):
        assert bool(cell(scale, Tensor(overflow))) is overflow
        seen.append((float(scale), int(cell.cur_iter), int(cell.last_overflow_iter)))
    assert seen == [
        (512, 2, 1),
        (512, 3, 1),
        (512, 4, 1),
        (1024, 5, 4),
        (1024, 6, 4),
        (1024, 7, 4),
        (2048, 8, 7),
        (1024, 9, 8),
        (512, 10, 9),
    ]
    assert cell.get_loss_scale() == 1024


def test_a_dynamic_scale_stays_at_least_one():
    cell = nn.DynamicLossScaleUpdateCell(1, 2, 3)
    scale = Parameter(Tensor(1.0), name="scale")
    cell(scale, Tensor(True))
    assert float(scale) == 1


def test_the_scale_can_be_set():
    network = _network()
    step = nn.TrainOneStepWithLossScaleCell(_with_loss(network), _sgd(network), Tensor([8.0]))
    step.set_sense_scale(Tensor([4.0]))
    assert float(step.scale_sense) == 4
    with pytest.raises(TypeError):
        step.set_sense_scale(4.0)
    with pytest.raises(TypeError):
        nn.TrainOneStepWithLossScaleCell(_with_loss(network), _sgd(network), 8.0)
    with pytest.raises(ValueError):
        nn.TrainOneStepWithLossScaleCell(
            _with_loss(network), _sgd(network), Tensor(np.ones((1, 2), np.float32))
        )


def test_a_scaled_step_may_be_spelled_out():
    class Own(nn.TrainOneStepWithLossScaleCell):
        def construct(self, *inputs):
            loss = self.network(*inputs)
            status, scale = self.start_overflow_check(loss, self.scale_sense)
            sens = ms.ops.ones_like(loss) * ms.ops.cast(scale, loss.dtype)
            gradients = self.grad(self.network, self.weights)(*inputs, sens)
            gradients = self.hyper_map(lambda g: g / scale, gradients)
            overflow = self.process_loss_scale(self.get_overflow_status(status, gradients))
            if not overflow:
                self.optimizer(gradients)
            return loss, overflow

    network = _network()
    loss, overflow = Own(_with_loss(network), _sgd(network), Tensor(8.0))(X, Y)
    assert float(loss) == 9 and not bool(overflow)
    np.testing.assert_allclose(network.bias.asnumpy(), [-0.3, -0.3], rtol=1e-6)
