"""Boost levels of training networks: which steps they make, and what these do."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, amp, boost, nn, train
from mycelia.dataset import NumpySlicesDataset

X = np.array([[1.0, 2.0], [0.5, -1.0]], np.float32)
Y = np.ones((2, 2), np.float32)
WEIGHT = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
GATHERING = {
    "boost": {"mode": "manual", "less_bn": False, "grad_freeze": False, "grad_accumulation": True},
    "grad_accumulation": {"grad_accumulation_step": 2},
}


@pytest.fixture(autouse=True)
def fresh_boost(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(boost.AutoBoost, "_instance", None)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def each_mode(request: pytest.FixtureRequest):
    ms.set_context(mode=request.param)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def made(level: str, **options: object) -> tuple[nn.Dense, nn.Cell]:
    network = nn.Dense(2, 2, weight_init=Tensor(WEIGHT), has_bias=False)
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    return network, amp.build_train_network(
        network, optimizer, nn.MSELoss(), boost_level=level, **options
    )


def gradient(weight: np.ndarray) -> np.ndarray:
    return (2 * (X @ weight.T - Y) / Y.size).T @ X


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_a_level_makes_boosted_steps_which_train_alike(level: str, each_mode: None):
    network, step = made(level)
    plain_network, plain = made("O0")
    assert type(step) is boost.BoostTrainOneStepCell and type(plain) is nn.TrainOneStepCell
    losses = [[float(cell(Tensor(X), Tensor(Y))) for _ in range(3)] for cell in (step, plain)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
    np.testing.assert_allclose(network.weight.asnumpy(), plain_network.weight.asnumpy(), rtol=1e-6)


def test_steps_follow_the_configuration(each_mode: None):
    boost.AutoBoost("O1", GATHERING)
    network, step = made("O1")
    for _ in range(3):
        step(Tensor(X), Tensor(Y))
    np.testing.assert_allclose(network.weight.asnumpy(), WEIGHT - 0.1 * gradient(WEIGHT), rtol=1e-5)


def test_a_level_and_a_scaled_loss():
    manager = train.DynamicLossScaleManager(64, 2, 1000)
    network, step = made("O1", loss_scale_manager=manager)
    assert type(step) is boost.BoostTrainOneStepWithLossScaleCell
    _, overflow, scale = step(Tensor(X), Tensor(Y))
    assert not bool(overflow) and float(scale) == 64
    np.testing.assert_allclose(network.weight.asnumpy(), WEIGHT - 0.1 * gradient(WEIGHT), rtol=1e-5)
    fixed = train.FixedLossScaleManager(8.0, drop_overflow_update=False)
    network, step = made("O2", loss_scale_manager=fixed)
    assert type(step) is boost.BoostTrainOneStepCell
    step(Tensor(X), Tensor(Y))
    moved = WEIGHT - 8 * 0.1 * gradient(WEIGHT)
    np.testing.assert_allclose(network.weight.asnumpy(), moved, rtol=1e-5)


def test_a_level_that_does_not_exist():
    with pytest.raises(ValueError, match="boost_level"):
        made("O3")


class Convolution(nn.Cell):
    def __init__(self):
        super().__init__()
        random = np.random.RandomState(0)
        self.c = nn.Conv2d(1, 2, 3, weight_init=Tensor(random.randn(2, 1, 3, 3).astype(np.float32)))
        self.bn, self.f = nn.BatchNorm2d(2), nn.Flatten()
        weight = Tensor(random.randn(3, 32).astype(np.float32))
        self.d = nn.Dense(32, 3, weight_init=weight, bias_init="zeros")

    def construct(self, x):
        return self.d(self.f(self.bn(self.c(x))))


def test_a_model_with_metrics_trains_the_network_that_the_level_makes():
    """The numbers are those of MindSpore for the same program."""
    random = np.random.RandomState(0)
    random.randn(2 * 9 + 3 * 32)
    x = random.randn(8, 1, 4, 4).astype(np.float32)
    y = np.eye(3, dtype=np.float32)[np.arange(8) % 3]
    config = {
        "boost": {"mode": "manual", "less_bn": True, "grad_freeze": False},
        "less_bn": {"fn_flag": True, "gc_flag": False},
    }
    network = Convolution()
    model = ms.Model(
        network,
        nn.MSELoss(),
        nn.Momentum(network.trainable_params(), 0.1, 0.9),
        metrics={"loss"},
        boost_level="O1",
        boost_config_dict=config,
    )
    data = NumpySlicesDataset((x, y), ["x", "y"], shuffle=False).batch(4)
    model.train(3, data, dataset_sink_mode=False)
    found = network.d.weight.asnumpy().ravel()[:4]
    np.testing.assert_allclose(found, [0.31325, -0.84988, -2.54603, 0.65719], atol=2e-5)
    found = network.c.weight.asnumpy().ravel()[:3]
    np.testing.assert_allclose(found, [1.78653, 0.40405, 0.98574], atol=2e-5)
    assert abs(model.eval(data, dataset_sink_mode=False)["loss"] - 0.3181842) < 1e-5
    assert type(model.train_network.network._backbone) is boost.LessBN


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_a_model_without_metrics_changes_its_steps_only(level):
    network = Convolution()
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    model = ms.Model(network, nn.MSELoss(), optimizer, boost_level=level)
    assert type(model.train_network) is boost.BoostTrainOneStepCell
    assert model.train_network.optimizer is optimizer
    with_metrics = ms.Model(network, nn.MSELoss(), optimizer, metrics={"loss"}, boost_level=level)
    assert type(with_metrics.train_network.optimizer) is boost.FreezeOpt
