"""Weights averaged over training steps."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Model, Parameter, Tensor, nn
from mycelia.dataset import NumpySlicesDataset
from mycelia.experimental import optim

X = np.random.default_rng(0).standard_normal((16, 3)).astype(np.float32)
Y = (X @ np.array([[1.0], [-2.0], [0.5]], np.float32)).astype(np.float32)


def _network() -> nn.Cell:
    return nn.Dense(3, 1, weight_init="ones", bias_init="zeros")


@pytest.mark.parametrize("warm_up", [False, True])
@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
@pytest.mark.parametrize("kind", [nn.SGD, optim.AdamW])
def test_the_mean_follows_the_weights_in_one_program(kind, mode, warm_up):
    network = _network()
    average = optim.ExponentialMovingAverage(
        kind(network.trainable_params(), 0.1), decay=0.6, warm_up=warm_up
    )
    step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), average)
    wanted = [p.asnumpy().copy() for p in average.parameters]
    ms.set_context(mode=mode)
    try:
        for n in range(1, 5):
            step(Tensor(X), Tensor(Y))
            kept = min(0.6, (1 + n) / (10 + n)) if warm_up else 0.6
            now = [p.asnumpy() for p in average.parameters]
            wanted = [kept * w + (1 - kept) * p for w, p in zip(wanted, now, strict=True)]
        if mode == ms.GRAPH_MODE:
            assert ms.jit.explain(step).labels == ("xla",)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    for got, each in zip(average.averages, wanted, strict=True):
        np.testing.assert_allclose(got.asnumpy(), each, rtol=1e-5, atol=1e-6)


def test_the_network_has_the_means_inside_with_only():
    network = _network()
    average = optim.ExponentialMovingAverage(network.trainable_params(), decay=0.5, warm_up=False)
    network.weight.set_data(Tensor(np.full((1, 3), 5.0, np.float32)))
    average.update()
    with average.applied():
        np.testing.assert_allclose(network.weight.asnumpy(), 3.0)
        np.testing.assert_allclose(network(Tensor(X)).asnumpy(), 3 * X.sum(1, keepdims=True), 1e-4)
    np.testing.assert_allclose(network.weight.asnumpy(), 5.0)
    np.testing.assert_allclose(average.averages[0].asnumpy(), 3.0)
    with pytest.raises(KeyError, match="stop"), average.applied():
        raise KeyError("stop")
    np.testing.assert_allclose(network.weight.asnumpy(), 5.0)
    average.swap()
    np.testing.assert_allclose(network.weight.asnumpy(), 3.0)
    np.testing.assert_allclose(average.averages[0].asnumpy(), 5.0)


def test_a_model_trains_with_it_and_checkpoints_contain_the_means(tmp_path):
    def made() -> tuple[Model, optim.ExponentialMovingAverage]:
        network = _network()
        average = optim.ExponentialMovingAverage(nn.Momentum(network.trainable_params(), 0.1, 0.9))
        return Model(network, nn.MSELoss(), average), average

    data = NumpySlicesDataset((X, Y), shuffle=False).batch(4)
    model, average = made()
    model.train(2, data, dataset_sink_mode=False)
    assert float(average.updates) == 8.0
    ms.save_checkpoint(model.train_network, str(tmp_path / "model.ckpt"))
    _, other = made()
    missing, _ = ms.load_param_into_net(other, ms.load_checkpoint(str(tmp_path / "model.ckpt")))
    assert missing == [] and float(other.updates) == 8.0
    for one, two in zip(average.averages, other.averages, strict=True):
        assert one.name == two.name and one.name.startswith("average.")
        np.testing.assert_array_equal(one.asnumpy(), two.asnumpy())


def test_what_it_has_not_itself_is_the_optimizers():
    inner = optim.SGD(_network().trainable_params(), 0.25)
    average = optim.ExponentialMovingAverage(inner)
    assert average.param_groups is inner.param_groups
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = average.nothing_like_it
    alone = optim.ExponentialMovingAverage(inner.parameters)
    with pytest.raises(AttributeError, match="param_groups"):
        _ = alone.param_groups


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda p: optim.ExponentialMovingAverage(p, decay=1.0), ValueError),
        (lambda p: optim.ExponentialMovingAverage(p, decay=-0.1), ValueError),
        (lambda p: optim.ExponentialMovingAverage(p, decay="a"), TypeError),
        (lambda p: optim.ExponentialMovingAverage(p, warm_up=1), TypeError),
        (lambda p: optim.ExponentialMovingAverage([]), TypeError),
        (lambda p: optim.ExponentialMovingAverage(nn.ReLU()), TypeError),
        (lambda p: optim.ExponentialMovingAverage([Tensor([1.0])]), TypeError),
    ],
)
def test_wrong_settings(make, error):
    with pytest.raises(error):
        make([Parameter(Tensor([1.0]), name="w")])
