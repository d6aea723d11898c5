"""StopOnDivergence: the step, the layer and the parameters from before."""

from __future__ import annotations

import os

import numpy as np
import pytest

import mycelia as ms
from mycelia import nn, ops, train
from tests.train.model_doubles import Rows, X, Y, cross_entropy


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        ms.set_seed(1)
        self.first = nn.Dense(3, 4, weight_init="ones")
        self.grow = nn.ReLU()
        self.last = nn.Dense(4, 2)

    def construct(self, x):
        return self.last(self.grow(self.first(x)))


def run(callback, data=None, net=None, rate=0.01, labels=Y, **options):
    data = X if data is None else data
    net = Net() if net is None else net
    model = train.Model(net, cross_entropy(), nn.SGD(net.trainable_params(), rate))
    model.train(2, Rows(data, labels), callback, **options)
    return net


def with_outlier(row, value=3e38):
    data = X.copy()
    data[row] = value
    return data


def after(steps):
    """The weights after some good steps."""
    net = Net()
    model = train.Model(net, cross_entropy(), nn.SGD(net.trainable_params(), 0.01))
    model.train(1, Rows(X[: 4 * steps], Y[: 4 * steps]))
    return {p.name: p.asnumpy() for p in net.get_parameters()}


@pytest.mark.parametrize(("every", "keep"), [(1, 50), (3, 3), (6, 4)])
def test_the_step_the_layer_and_the_checkpoint(tmp_path, every, keep):
    net = Net()
    callback = train.StopOnDivergence(str(tmp_path), check_every=every, keep_every=keep)
    with pytest.raises(ValueError, match="diverged in epoch 1, step 5") as caught:
        run(callback, with_outlier(17), net)
    assert "first in Dense 'first', from inputs of at most 3e+38" in str(caught.value)
    (name,) = os.listdir(tmp_path)
    assert name == "before_divergence-1_5.ckpt" and name in str(caught.value)
    loaded = ms.load_checkpoint(str(tmp_path / name))
    for key, value in after(4).items():
        np.testing.assert_array_equal(loaded[key].asnumpy(), value)
        np.testing.assert_array_equal(net.parameters_dict()[key].asnumpy(), value)


def test_joined_steps(tmp_path, graph_mode):
    callback = train.StopOnDivergence(str(tmp_path), keep_every=6)
    with pytest.raises(ValueError, match="epoch 1, step 5") as caught:
        run(callback, with_outlier(17), dataset_sink_mode=True)
    assert "first in Dense 'first'" in str(caught.value)
    loaded = ms.load_checkpoint(str(tmp_path / "before_divergence-1_5.ckpt"))
    for key, value in after(4).items():
        np.testing.assert_allclose(loaded[key].asnumpy(), value, rtol=1e-6)


def test_the_data_may_be_at_fault():
    with pytest.raises(ValueError, match="the batch itself .* in column 0"):
        run(train.StopOnDivergence(), with_outlier(9, np.nan))


def test_operations_between_layers():
    class Between(Net):
        def construct(self, x):
            return self.last(ops.log(self.first(x) * 0 - 1))

    with pytest.raises(ValueError, match="Dense 'last', whose input is already not finite"):
        run(train.StopOnDivergence(), net=Between())


def test_gradients():
    class Root(Net):
        def construct(self, x):
            return self.last(ops.sqrt(self.first(x) * 0))

    with pytest.raises(
        ValueError, match="the gradient of first.weight, first.bias is not"
    ) as caught:
        run(train.StopOnDivergence(), net=Root())
    assert "epoch 1, step 1" in str(caught.value)


def test_the_optimizer():
    with pytest.raises(ValueError, match="but the optimizer's update is not"):
        run(train.StopOnDivergence(), X * 50, rate=3e38, labels=1 - Y)


def test_a_stop_instead_of_an_error(caplog):
    history = train.History()
    run([train.StopOnDivergence(raises=False), history], with_outlier(17))
    assert history.epoch == {"epoch": [1]} and "epoch 1, step 5" in caplog.text


def test_a_good_training_is_left_alone():
    net = run(train.StopOnDivergence(keep_every=2))
    plain = run(None)
    np.testing.assert_array_equal(net.first.weight.asnumpy(), plain.first.weight.asnumpy())


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (TypeError, {"directory": 3}),
        (ValueError, {"check_every": 0}),
        (ValueError, {"keep_every": 0}),
        (TypeError, {"raises": 3}),
    ],
)
def test_bad_arguments(kind, options):
    with pytest.raises(kind):
        train.StopOnDivergence(**options)
