"""Normalization over batches, layers, groups, and instances."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from mycelia import nn, ops
from tests.fuzz.configuration.draws import around, flag, is_small, size_or_threshold, some
from tests.fuzz.configuration.subject import Problem, Settings, Subject, Values

_BATCH = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
_INSTANCE = {1: nn.InstanceNorm1d, 2: nn.InstanceNorm2d, 3: nn.InstanceNorm3d}
_ROWS, _LONG = 256, (64, 1024)  # rows and lengths from which sums are made in parts


def _normalized(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


def _by_channel(x: np.ndarray, weights: tuple[np.ndarray, ...], rank: int) -> np.ndarray:
    """`x` scaled and moved, if there are weights."""
    if not weights:
        return x
    gamma, beta = (w.reshape(-1, *(1,) * rank) for w in weights)
    return x * gamma + beta


def _draw_images(rng: random.Random, rank: int) -> Settings:
    sizes = some(rng, rank, 1, {0: 1, 1: 40, 2: 12, 3: 5}[rank])
    batch = size_or_threshold(rng, 6, 8, _ROWS, share=0.2)
    if rank == 2 and flag(rng, 0.3):
        batch, sizes = 4, (8, around(rng, 8))
    channels = size_or_threshold(rng, 9, 16, 64, share=0.3)
    return {"batch": batch, "channels": channels, "sizes": sizes, "affine": flag(rng, 0.7),
            "epsilon": rng.choice((1e-5, 1e-3))}  # fmt: skip


def _fits_images(settings: Settings) -> bool:
    shape = (settings["batch"], settings["channels"], *settings["sizes"])
    counted = np.prod((settings["batch"], *settings["sizes"]))
    return min(shape) > 0 and counted > 1 and is_small(shape, 1 << 17)


def _batch(settings: Settings, values: Values) -> Problem:
    channels, rank = settings["channels"], max(1, len(settings["sizes"]))
    last = settings["channels_last"]
    layout = {"data_format": "NHWC"} if last else {}
    net = _BATCH[rank](
        channels,
        settings["epsilon"],
        affine=settings["affine"],
        use_batch_statistics=True,
        **layout,
        dtype=values.dtype,
    )
    net.set_train()

    def reference(x: np.ndarray, *weights: np.ndarray) -> np.ndarray:
        x = np.moveaxis(x, -1, 1) if last else x
        axes = (0, *range(2, x.ndim))
        found = _by_channel(_normalized(x, axes, settings["epsilon"]), weights, x.ndim - 2)
        return np.moveaxis(found, 1, -1) if last else found

    x = values.normal(settings["batch"], channels, *settings["sizes"])
    given = np.ascontiguousarray(np.moveaxis(x, 1, -1)) if last else x
    return Problem(net, reference, (given,), values.weights(net))


def _draw_batch(rng: random.Random, rank: int) -> Settings:
    return _draw_images(rng, rank) | {"channels_last": rank == 2 and flag(rng, 0.3)}


def _instance(settings: Settings, values: Values) -> Problem:
    channels, rank = settings["channels"], len(settings["sizes"])
    net = _INSTANCE[rank](
        channels, settings["epsilon"], affine=settings["affine"], dtype=values.dtype
    )
    net.set_train()

    def reference(x: np.ndarray, *weights: np.ndarray) -> np.ndarray:
        axes = tuple(range(2, rank + 2))
        return _by_channel(_normalized(x, axes, settings["epsilon"]), weights, rank)

    x = values.normal(settings["batch"], channels, *settings["sizes"])
    return Problem(net, reference, (x,), values.weights(net))


def _fits_instance(settings: Settings) -> bool:
    return _fits_images(settings) and np.prod(settings["sizes"]) > 1


def _draw_group(rng: random.Random) -> Settings:
    drawn = _draw_images(rng, 2)
    groups = rng.randint(1, 5)
    return drawn | {"groups": groups, "channels": groups * rng.randint(1, 16)}


def _fits_group(settings: Settings) -> bool:
    groups = settings["groups"]
    if groups < 1 or settings["channels"] % groups:
        return False
    each = settings["channels"] // groups * np.prod(settings["sizes"])
    return each > 1 and _fits_images(settings)


def _group(settings: Settings, values: Values) -> Problem:
    channels, groups, epsilon = (settings[n] for n in ("channels", "groups", "epsilon"))
    net = nn.GroupNorm(groups, channels, epsilon, settings["affine"], dtype=values.dtype)

    def reference(x: np.ndarray, *weights: np.ndarray) -> np.ndarray:
        apart = x.reshape(x.shape[0], groups, -1)
        return _by_channel(_normalized(apart, (2,), epsilon).reshape(x.shape), weights, 2)

    x = values.normal(settings["batch"], channels, *settings["sizes"])
    return Problem(net, reference, (x,), values.weights(net))


def _draw_layer(rng: random.Random) -> Settings:
    leading = some(rng, rng.randint(1, 2), 1, 5)
    if flag(rng, 0.3):
        leading = (around(rng, _ROWS),)
    count = rng.randint(1, 2)
    shape = some(rng, count, 1, 12)
    if flag(rng, 0.4):
        shape = (around(rng, *_LONG),)
    return {"leading": leading, "shape": shape, "epsilon": rng.choice((1e-5, 1e-3))}


def _fits_layer(settings: Settings) -> bool:
    shape = (*settings["leading"], *settings["shape"])
    return min(shape) > 0 and np.prod(settings["shape"]) > 1 and is_small(shape, 1 << 17)


def _layer(settings: Settings, values: Values) -> Problem:
    shape, epsilon, first = settings["shape"], settings["epsilon"], len(settings["leading"])
    net = nn.LayerNorm(shape, first, first, epsilon=epsilon, dtype=values.dtype)

    def reference(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
        return _normalized(x, tuple(range(first, x.ndim)), epsilon) * gamma + beta

    x = values.normal(*settings["leading"], *shape)
    return Problem(net, reference, (x,), values.weights(net))


def _root_mean_square(settings: Settings, values: Values) -> Problem:
    epsilon, axes = settings["epsilon"], tuple(range(-len(settings["shape"]), 0))

    def call(x: Any, gamma: Any) -> Any:
        return ops.rms_norm(x, gamma, epsilon)[0]

    def reference(x: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        return x / np.sqrt((x**2).mean(axes, keepdims=True) + epsilon) * gamma

    x = values.normal(*settings["leading"], *settings["shape"])
    return Problem(call, reference, (x, values.normal(*settings["shape"])))


SUBJECTS = (
    *(
        Subject(
            f"batch norm {max(rank, 1)}d{'' if rank else ' of rows'}",
            "normalization",
            lambda rng, rank=rank: _draw_batch(rng, rank),
            _batch,
            _fits_images,
        )
        for rank in (0, 1, 2, 3)
    ),
    *(
        Subject(
            f"instance norm {rank}d",
            "normalization",
            lambda rng, rank=rank: _draw_images(rng, rank),
            _instance,
            _fits_instance,
        )
        for rank in (1, 2, 3)
    ),
    Subject("group norm", "normalization", _draw_group, _group, _fits_group),
    Subject("layer norm", "normalization", _draw_layer, _layer, _fits_layer),
    Subject("root mean square norm", "normalization", _draw_layer, _root_mean_square, _fits_layer),
)
