"""Layers and optimizers of mint: training and inference, printed forms, groups, wrong arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, mint, ops


def _array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("make", [lambda p: mint.nn.Dropout(p), lambda p: mint.nn.Dropout2d(p)])
def test_dropout_scales_what_it_keeps_in_training_only(make: Any):
    x = Tensor(np.ones((20, 50, 2, 2), np.float32))
    layer = make(0.25)
    np.testing.assert_array_equal(np.asarray(layer(x)), np.asarray(x))
    out = np.asarray(layer.set_train()(x))
    np.testing.assert_allclose(np.unique(out), [0, 4 / 3], rtol=1e-6)
    assert abs((out == 0).mean() - 0.25) < 0.06
    whole_channels = (out == out[:, :, :1, :1]).all()
    assert whole_channels == isinstance(layer, mint.nn.Dropout2d)
    assert not np.asarray(make(1.0).set_train()(x)).any()
    assert np.array_equal(make(0.0).set_train()(x).asnumpy(), np.asarray(x))


def test_dropout_in_place():
    x = Tensor(np.ones((4, 5), np.float32))
    assert mint.nn.Dropout(0.5, inplace=True).set_train()(x) is x
    assert set(np.asarray(x).ravel()) <= {0.0, 2.0}
    assert mint.nn.functional.dropout(x, 0.5, training=False) is x


def test_sync_batch_norm_is_batch_norm_of_any_rank():
    x = _array(4, 3, 2, 2, 2)
    sync, plain = mint.nn.SyncBatchNorm(3).set_train(), mint.nn.BatchNorm3d(3).set_train()
    np.testing.assert_allclose(sync(Tensor(x)).asnumpy(), plain(Tensor(x)).asnumpy(), rtol=1e-5)
    for one, other in zip(sync.get_parameters(), plain.get_parameters(), strict=True):
        assert one.name == other.name
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5)


def test_batch_norm_uses_running_statistics_in_inference():
    x = _array(4, 3, 2, 2)
    layer = mint.nn.BatchNorm2d(3)
    np.testing.assert_allclose(
        layer(Tensor(x)).asnumpy(), x / np.sqrt(1 + 1e-5), rtol=1e-5, atol=1e-6
    )
    assert int(layer.num_batches_tracked) == 0
    layer.set_train()(Tensor(x))
    assert int(layer.num_batches_tracked) == 1
    np.testing.assert_allclose(np.asarray(layer.running_mean), 0.1 * x.mean((0, 2, 3)), atol=1e-6)
    with pytest.raises(ValueError, match="4 dimensions"):
        layer(Tensor(x[0]))


@pytest.mark.parametrize(
    ("layer", "printed"),
    [
        (
            lambda: mint.nn.Linear(3, 4),
            "Linear(input_features=3, output_features=4, has_bias=True)",
        ),
        (
            lambda: mint.nn.Conv2d(3, 6, 3),
            "Conv2d(input_channels=3, output_channels=6, kernel_size=(3, 3), stride=(1, 1), "
            "padding=(0, 0), dilation=(1, 1), groups=1, bias=True)",
        ),
        (
            lambda: mint.nn.BatchNorm1d(3),
            "BatchNorm1d(num_features=3, eps=1e-05, momentum=0.1, affine=True, "
            "track_running_stats=True)",
        ),
        (
            lambda: mint.nn.GroupNorm(2, 4),
            "GroupNorm(num_groups=2, num_channels=4, eps=1e-05, affine=True)",
        ),
        (lambda: mint.nn.AdaptiveAvgPool2d(2), "AdaptiveAvgPool2d(output_size=2)"),
    ],
)
def test_layers_are_printed_with_their_settings(layer: Any, printed: str):
    assert str(layer()) == printed


def test_initial_weights_lie_within_one_over_the_root_of_their_inputs():
    for layer, fan_in in (
        (mint.nn.Linear(50, 40), 50),
        (mint.nn.Conv1d(10, 20, 5), 50),
        (mint.nn.ConvTranspose2d(20, 2, 5), 50),
    ):
        bound = 1 / np.sqrt(fan_in)
        weight = np.asarray(layer.weight)
        assert 0.9 * bound < np.abs(weight).max() <= bound and np.abs(layer.bias).max() <= bound
    table = np.asarray(mint.nn.Embedding(100, 40, padding_idx=3).weight)
    assert abs(table.std() - 1) < 0.1 and not table[3].any()
    given = mint.nn.Embedding(2, 3, _weight=Tensor(np.ones((2, 3), np.float32)), _freeze=True)
    assert not given.weight.requires_grad and np.asarray(given.weight).all()
    assert mint.nn.Linear(2, 3, weight_init="ones", dtype=ms.float16).weight.dtype == ms.float16


def test_a_transposed_convolution_reaches_the_size_asked_for():
    layer = mint.nn.ConvTranspose2d(2, 3, 3, stride=2)
    x = Tensor(_array(1, 2, 4, 4))
    assert layer(x).shape == (1, 3, 9, 9)
    assert layer(x, (10, 9)).shape == (1, 3, 10, 9)
    with pytest.raises(ValueError, match="cannot be reached"):
        layer(x, (12, 9))


def test_a_network_of_mint_learns_compiled_and_eagerly():
    inputs, labels = _array(32, 2), (_array(32, 2).prod(1) > 0).astype(np.int64)
    for wrap in (lambda f: f, ms.jit):
        ms.set_seed(1)
        hidden, last = mint.nn.Linear(2, 16), mint.nn.Linear(16, 2)
        network = ms.nn.SequentialCell(hidden, mint.nn.Tanh(), last)
        optimizer = mint.optim.Adam(network.trainable_params(), lr=0.05)
        loss_of = mint.nn.CrossEntropyLoss()

        def loss(x: Any, y: Any, network: Any = network, loss_of: Any = loss_of) -> Any:
            return loss_of(network(x), y)

        gradient = ms.value_and_grad(loss, None, optimizer.parameters)

        def step(x: Any, y: Any, gradient: Any = gradient, optimizer: Any = optimizer) -> Any:
            value, grads = gradient(x, y)
            optimizer(grads)
            return value

        run = wrap(step)
        losses = [float(run(Tensor(inputs), Tensor(labels))) for _ in range(40)]
        assert losses[-1] < 0.35 * losses[0]


def test_fused_adamw_is_adamw():
    values, gradient = _array(3, 2), Tensor(_array(3, 2, seed=1))
    found = []
    for make in (mint.optim.AdamW, mint.optim.FusedAdamW):
        parameter = Parameter(Tensor(values), name="w")
        optimizer = make([parameter], lr=0.1, amsgrad=True)
        assert optimizer((gradient,)) is True
        optimizer((gradient,))
        found.append(np.asarray(parameter))
    np.testing.assert_array_equal(*found)
    assert np.abs(found[0] - values).min() > 0.1


def test_the_states_of_optimizers_have_mindspores_names():
    weight = Parameter(Tensor(_array(2)), name="w")
    names = [p.name for p in mint.optim.Adam([weight]).get_parameters()]
    assert names == ["w", "exp_avg.w", "exp_avg_sq.w", "state_step"]
    names = [p.name for p in mint.optim.SGD([weight], lr=0.1).get_parameters()]
    assert names == ["w", "momentum_buf.w", "step_t"]


def test_learning_rates_are_written_between_steps():
    weight = Parameter(Tensor(np.zeros(2, np.float32)), name="w")
    optimizer = mint.optim.SGD([weight], lr=0.5)
    step = ms.jit(optimizer)
    step((Tensor(np.ones(2, np.float32)),))
    ops.assign(optimizer.param_groups[0]["lr"], Tensor(0.25, ms.float32))
    step((Tensor(np.ones(2, np.float32)),))
    np.testing.assert_allclose(np.asarray(weight), [-0.75, -0.75])
    assert "lr: 0.25" in str(optimizer) and "Parameter Group 0" in str(optimizer)


@pytest.mark.parametrize(
    ("error", "match", "make"),
    [
        (ValueError, "lr", lambda p: mint.optim.Adam(p, lr=-1.0)),
        (ValueError, "betas", lambda p: mint.optim.Adam(p, betas=(1.0, 0.9))),
        (ValueError, "eps", lambda p: mint.optim.AdamW(p, eps=-1.0)),
        (ValueError, "nesterov", lambda p: mint.optim.SGD(p, 0.1, nesterov=True)),
        (ValueError, "momentum", lambda p: mint.optim.SGD(p, 0.1, momentum=-1.0)),
        (TypeError, "lr", lambda p: mint.optim.SGD(p, lr="fast")),
        (ValueError, "no parameters", lambda p: mint.optim.SGD([], 0.1)),
        (TypeError, "params", lambda p: mint.optim.SGD(p[0], 0.1)),
        (TypeError, "Parameters", lambda p: mint.optim.SGD([1], 0.1)),
        (ValueError, "more than once", lambda p: mint.optim.SGD(p + p, 0.1)),
        (ValueError, "number of gradients", lambda p: mint.optim.SGD(p, 0.1)(())),
        (ValueError, "shape", lambda p: mint.optim.SGD(p, 0.1)((Tensor([1.0]),))),
        (TypeError, "tuple", lambda p: mint.optim.SGD(p, 0.1)(p[0])),
        (ValueError, "groups", lambda p: mint.nn.Conv2d(3, 4, 3, groups=2)),
        (ValueError, "padding_mode", lambda p: mint.nn.Conv2d(2, 4, 3, padding_mode="fold")),
        (TypeError, "in_features", lambda p: mint.nn.Linear("3", 4)),
        (ValueError, "num_channels", lambda p: mint.nn.GroupNorm(2, 3)),
        (ValueError, "approximate", lambda p: mint.nn.GELU("fast")),
        (ValueError, "wrong shape", lambda p: mint.nn.Embedding(3, 3, _weight=p[0])),
        (ValueError, "padding_idx", lambda p: mint.nn.Embedding(3, 3, padding_idx=4)),
    ],
)
def test_wrong_settings_are_refused(error: type, match: str, make: Any):
    with pytest.raises(error, match=match):
        make([Parameter(Tensor(_array(2)), name="w")])
