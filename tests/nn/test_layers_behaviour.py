"""How layers start, what they do in training, and the few that have no golden."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia.ops.reduction.reduction import reduce_sum
from mycelia.transforms.grad import grad


def numbers(*shape: int) -> np.ndarray:
    return np.random.RandomState(7).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    "layer, fan_in",
    [
        (nn.Dense(64, 50), 64),
        (nn.Conv1d(8, 32, 3, has_bias=True), 24),
        (nn.Conv2d(8, 32, 3, has_bias=True), 72),
        (nn.Conv2d(8, 32, 3, group=4, has_bias=True), 18),
        (nn.Conv3d(8, 32, 3, has_bias=True), 216),
        (nn.Conv2dTranspose(8, 32, 3, has_bias=True), 288),
        (nn.Conv2dTranspose(8, 32, 3, group=4, has_bias=True), 72),
        (nn.BiDense(20, 30, 40), 20),
    ],
)
def test_weights_and_biases_start_uniform_within_one_over_the_root_of_fan_in(
    layer: Any, fan_in: int
) -> None:
    bound = 1 / math.sqrt(fan_in)
    for parameter in (layer.weight, layer.bias):
        values = np.abs(np.asarray(parameter))
        assert 0.8 * bound < values.max() <= bound * (1 + 1e-6)


def test_an_embedding_starts_normal_with_zeros_in_the_padding_row() -> None:
    table = np.asarray(nn.Embedding(200, 20, padding_idx=3).embedding_table)
    assert 0.009 < table.std() < 0.011
    assert not table[3].any()


def test_dropout_keeps_the_mean_in_training() -> None:
    layer = nn.Dropout(p=0.25).set_train()
    out = np.asarray(layer(Tensor(np.ones((100, 100), np.float32))))
    assert set(np.unique(out)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((out == 0).mean() - 0.25) < 0.03


def test_dropout_draws_anew_each_time() -> None:
    layer = nn.Dropout(0.5).set_train()
    x = Tensor(np.ones((100,), np.float32))
    assert (np.asarray(layer(x)) != np.asarray(layer(x))).any()


@pytest.mark.parametrize(
    "layer, shape",
    [
        (nn.Dropout1d(0.5), (40, 5, 6)),
        (nn.Dropout2d(0.5), (40, 5, 2, 3)),
        (nn.Dropout3d(0.5), (40, 5, 2, 3, 2)),
    ],
)
def test_channel_dropout_drops_whole_channels(layer: Any, shape: tuple[int, ...]) -> None:
    out = np.asarray(layer.set_train()(Tensor(np.ones(shape, np.float32))))
    channels = out.reshape(*shape[:2], -1)
    assert (channels == channels[:, :, :1]).all()
    assert set(np.unique(channels)) == {0.0, 2.0}


def test_channel_dropout_of_everything_gives_zeros() -> None:
    out = nn.Dropout2d(1.0).set_train()(Tensor(np.ones((2, 3, 4, 5), np.float32)))
    assert not np.asarray(out).any()


def test_rrelu_draws_slopes_between_its_bounds() -> None:
    out = -np.asarray(nn.RReLU()(Tensor(-np.ones((500,), np.float32))))
    assert 0.125 <= out.min() < 0.14
    assert 0.32 < out.max() <= 1 / 3 + 1e-6


@pytest.mark.parametrize(
    "layer, shape",
    [
        (nn.InstanceNorm1d(3, momentum=0.3), (2, 3, 5)),
        (nn.InstanceNorm2d(3), (2, 3, 4, 5)),
        (nn.InstanceNorm3d(3), (2, 3, 2, 3, 2)),
    ],
)
def test_instance_norm_normalizes_each_sample_and_channel(layer: Any, shape: Any) -> None:
    x = numbers(*shape)
    axes = tuple(range(2, len(shape)))
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    expected = (x - mean) / np.sqrt(variance + 1e-5)
    np.testing.assert_allclose(np.asarray(layer(Tensor(x))), expected, rtol=1e-4, atol=1e-5)


def test_rms_norm_divides_by_the_root_mean_square() -> None:
    x, gamma = numbers(3, 4), np.array([1.0, 2.0, 0.5, -1.0], np.float32)
    layer = nn.RMSNorm(4, eps=1e-5)
    layer.gamma.set_data(Tensor(gamma))
    expected = x / np.sqrt(np.square(x).mean(-1, keepdims=True) + 1e-5) * gamma
    np.testing.assert_allclose(np.asarray(layer(Tensor(x))), expected, rtol=1e-5, atol=1e-6)


def test_roll_moves_along_axes() -> None:
    x = numbers(2, 3)
    out = nn.Roll((1, 2), (0, 1))(Tensor(x))
    assert (np.asarray(out) == np.roll(x, (1, 2), (0, 1))).all()


def test_unfold_stacks_patches_as_channels() -> None:
    x = numbers(1, 2, 3, 3)
    out = np.asarray(nn.Unfold([1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1])(Tensor(x)))
    assert out.shape == (1, 8, 2, 2)
    expected = [x[0, c, 1 + i, j] for i in (0, 1) for j in (0, 1) for c in (0, 1)]
    assert out[0, :, 1, 0].tolist() == expected


def test_an_embedding_lookup_outside_the_table_gives_zeros() -> None:
    out = nn.EmbeddingLookup(5, 3, "ones")(Tensor(np.array([4, 7], np.int32)))
    assert np.asarray(out).tolist() == [[1, 1, 1], [0, 0, 0]]


def test_the_parameters_of_parts_are_named_by_their_path() -> None:
    block = nn.Conv2dBnAct(2, 3, 3, has_bn=True, activation="prelu")
    assert [p.name for p in block.get_parameters()] == [
        "conv.weight",
        "batchnorm.moving_mean",
        "batchnorm.moving_variance",
        "batchnorm.gamma",
        "batchnorm.beta",
        "activation.w",
    ]


def test_a_small_network_trains_end_to_end() -> None:
    network = nn.SequentialCell(
        nn.Conv2d(1, 4, 3, has_bias=True),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Dropout(p=0.1),
        nn.Flatten(),
        nn.Dense(16, 3),
        nn.LogSoftmax(),
    ).set_train()
    x = Tensor(numbers(5, 1, 4, 4))
    gradients = grad(lambda x: reduce_sum(network(x)), None, network.trainable_params())(x)
    assert [g.shape for g in gradients] == [p.shape for p in network.trainable_params()]
    assert all(np.isfinite(np.asarray(g)).all() for g in gradients)


def test_clip_by_norm_scales_down_what_is_too_long_along_an_axis() -> None:
    x = np.array([[3.0, 4.0], [0.3, 0.4]], np.float32)
    out = np.asarray(nn.ClipByNorm(1)(Tensor(x), Tensor(np.float32(1.0))))
    np.testing.assert_allclose(out, [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


def test_an_embedding_lookup_cuts_rows_to_the_norm() -> None:
    table = np.array([[3.0, 4.0], [0.3, 0.4]], np.float32)
    layer = nn.EmbeddingLookup(2, 2, Tensor(table), max_norm=1.0)
    out = np.asarray(layer(Tensor(np.array([[0, 1]], np.int32))))
    np.testing.assert_allclose(out, [[[0.6, 0.8], [0.3, 0.4]]], rtol=1e-6)


@pytest.mark.parametrize(
    "layer, inputs",
    [
        (nn.SeLU(), (numbers(3, 4) + np.float32(0.1) * np.sign(numbers(3, 4)),)),
        (nn.ClipByNorm(1), (numbers(2, 3), np.float32(1.2))),
    ],
)
def test_gradients_are_the_derivatives_of_the_output(layer: Any, inputs: Any) -> None:
    def loss(*args: Any) -> Any:
        return reduce_sum(layer(*args))

    found = np.asarray(grad(loss)(*(Tensor(x) for x in inputs)))
    x, step = inputs[0], np.float32(1e-2)
    for place in np.ndindex(x.shape):
        change = np.zeros_like(x)
        change[place] = step
        above = loss(Tensor(x + change), *(Tensor(a) for a in inputs[1:]))
        below = loss(Tensor(x - change), *(Tensor(a) for a in inputs[1:]))
        expected = (np.asarray(above, np.float64) - np.asarray(below, np.float64)) / (2 * step)
        assert found[place] == pytest.approx(expected, rel=1e-2, abs=2e-3)


@pytest.mark.parametrize("layer", [nn.BatchNorm2d(3), nn.InstanceNorm2d(3)])
def test_moving_statistics_change_in_float32_when_the_layer_computes_in_float16(layer: Any) -> None:
    layer.set_train().to_float(ms.float16)
    out = layer(Tensor(numbers(2, 3, 4, 4) + 5))
    assert out.dtype is ms.float16
    assert layer.moving_mean.dtype is ms.float32
    assert (np.asarray(layer.moving_mean) > 0.3).all()


def test_unpooling_puts_maxima_back_to_their_places() -> None:
    x = Tensor(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    maxima, places = nn.MaxPool2d(2, 2, "pad", return_indices=True)(x)
    out = np.asarray(nn.MaxUnpool2d(2)(maxima, places))
    expected = np.where(np.isin(np.asarray(x), [5, 7, 13, 15]), np.asarray(x), 0)
    assert (out == expected).all()


def test_channels_may_stand_last() -> None:
    first = nn.Conv2d(2, 3, 3, has_bias=True)
    last = nn.Conv2d(2, 3, 3, has_bias=True, data_format="NHWC")
    last.weight.set_data(Tensor(np.moveaxis(np.asarray(first.weight), 1, -1)))
    last.bias.set_data(first.bias)
    x = numbers(2, 2, 5, 5)
    expected = np.moveaxis(np.asarray(first(Tensor(x))), 1, -1)
    out = np.asarray(last(Tensor(np.moveaxis(x, 1, -1))))
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    norm = nn.BatchNorm2d(3, data_format="NHWC").set_train()
    statistics = np.asarray(norm(Tensor(out))).mean((0, 1, 2))
    np.testing.assert_allclose(statistics, 0, atol=1e-6)
    assert nn.MaxPool2d(2, 2, data_format="NHWC")(Tensor(out)).shape == (2, 2, 2, 3)
    assert nn.AvgPool2d(2, 2, data_format="NHWC")(Tensor(out)).shape == (2, 2, 2, 3)
