"""A budget of memory: programs that would need more run parts of the forward pass again."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia._engine.runtime.xla import lowering, materialization

pytestmark = pytest.mark.usefixtures("graph_mode")


class Block(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.first, self.norm = nn.Dense(width, 2 * width), nn.BatchNorm1d(2 * width)
        self.second = nn.Dense(2 * width, width)

    def construct(self, x):
        return x + self.second(nn.ReLU()(self.norm(self.first(x))))


def step():
    ms.set_seed(1)
    net = nn.SequentialCell([Block(32) for _ in range(6)])
    train = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9)
    )
    return train.set_train(), net


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    return [Tensor(random.normal(size=(2048, 32)).astype(np.float32)) for _ in range(2)]


def trained(data):
    train, net = step()
    losses = [float(train(*data)) for _ in range(3)]
    return losses, [p.asnumpy() for p in net.get_parameters()], train


def gigabytes(share, of):
    return f"{share * of / 2**30:.6f}GB"


def test_a_program_fits_its_budget_and_computes_the_same(data):
    losses, weights, train = trained(data)
    whole = ms.runtime.memory_report(train, *data)
    ms.set_context(max_device_memory=gigabytes(0.6, whole.peak))
    less_losses, less_weights, train = trained(data)
    assert ms.runtime.memory_report(train, *data).peak < 0.65 * whole.peak
    np.testing.assert_allclose(less_losses, losses, rtol=1e-4)
    for found, wanted in zip(less_weights, weights, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)


class Residual(nn.Cell):
    def __init__(self, channels):
        super().__init__()
        self.first, self.norm = nn.Conv2d(channels, 8, 1), nn.BatchNorm2d(8)
        self.second, self.after = nn.Conv2d(8, channels, 1), nn.BatchNorm2d(channels)

    def construct(self, x):
        y = nn.ReLU()(self.norm(self.first(x)))
        return nn.ReLU()(x + self.after(self.second(y)))


@pytest.mark.slow
def test_what_a_layer_starts_from_is_not_held_twice(monkeypatch):
    """When it is run again: once as it was kept, and once as what had to wait."""
    x = Tensor(np.random.default_rng(0).normal(size=(8, 64, 16, 16)).astype(np.float32))

    def needed():
        ms.set_seed(1)
        net = nn.SequentialCell([Residual(64) for _ in range(4)])
        for layer in net:
            layer.recompute()
        loss = nn.WithLossCell(net, nn.MSELoss())
        train = nn.TrainOneStepCell(loss, nn.Momentum(net.trainable_params(), 0.1, 0.9)).set_train()
        return float(train(x, x)), ms.runtime.memory_report(train, x, x).temporary

    loss, held_once = needed()
    monkeypatch.setattr(
        lowering,
        "delayed_until",
        lambda values, after, by, **_: materialization.delayed_until(values, after, by),
    )
    same, held_twice = needed()
    assert loss == pytest.approx(same, rel=1e-6)
    assert held_once < held_twice - 0.8 * x.nbytes


def test_a_budget_that_is_large_enough_changes_nothing(data):
    train, _ = step()
    whole = ms.runtime.memory_report(train, *data)
    ms.set_context(max_device_memory=gigabytes(2, whole.peak))
    assert ms.runtime.memory_report(train, *data).temporary == whole.temporary


@pytest.mark.slow
def test_a_new_budget_makes_a_new_program(data):
    train, _ = step()
    train(*data), train(*data)
    entry = next(iter(train._compiled().entries.values()))
    ms.set_context(max_device_memory="0.001GB")
    train(*data)
    assert next(iter(train._compiled().entries.values())) is not entry


@pytest.mark.parametrize("wrong", ["5", "GB", "-1GB", "0GB", "many GB", 5])
def test_only_gigabytes_are_amounts_of_memory(wrong):
    with pytest.raises(ValueError, match=r"max_device_memory(.|\n)*3\.5GB"):
        ms.set_context(max_device_memory=wrong)
