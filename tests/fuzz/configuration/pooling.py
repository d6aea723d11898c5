"""Pooling over one, two, and three axes: maxima, means, power means, and adaptive windows."""

from __future__ import annotations

import random
from itertools import product
from math import prod
from typing import Any

import numpy as np

from mycelia import nn
from tests.fuzz.configuration import windows
from tests.fuzz.configuration.draws import flag, is_small, size_or_threshold, some
from tests.fuzz.configuration.subject import Problem, Settings, Subject, Values

_MAXIMA = {1: nn.MaxPool1d, 2: nn.MaxPool2d, 3: nn.MaxPool3d}
_MEANS = {1: nn.AvgPool1d, 2: nn.AvgPool2d, 3: nn.AvgPool3d}
_POWERS = {1: nn.LPPool1d, 2: nn.LPPool2d}
_ADAPTIVE = {
    "mean": {1: nn.AdaptiveAvgPool1d, 2: nn.AdaptiveAvgPool2d, 3: nn.AdaptiveAvgPool3d},
    "maximum": {1: nn.AdaptiveMaxPool1d, 2: nn.AdaptiveMaxPool2d, 3: nn.AdaptiveMaxPool3d},
}


def _draw(rng: random.Random, rank: int) -> Settings:
    kernel = some(rng, rank, 1, 5)
    strides = kernel if flag(rng, 0.3) else some(rng, rank, 1, 4)
    mode = rng.choice(("valid", "pad", "pad"))
    most = {1: 40, 2: 20, 3: 8}[rank]
    return {
        "batch": size_or_threshold(rng, 3, 8),
        "channels": size_or_threshold(rng, 4, 16, share=0.2),
        "kernel": kernel,
        "strides": strides,
        "dilation": (1,) * rank,
        "sizes": tuple(k + rng.randint(0, most) for k in kernel),
        "mode": mode,
        "padding": tuple(rng.randint(0, k // 2) if mode == "pad" else 0 for k in kernel),
        "ceil": mode == "pad" and flag(rng, 0.4),
    }


def _draw_maxima(rng: random.Random, rank: int) -> Settings:
    drawn = _draw(rng, rank) | {"channels_last": rank == 2 and flag(rng, 0.25)}
    if drawn["mode"] == "pad" and not drawn["channels_last"]:
        return drawn | {"dilation": some(rng, rank, 1, 2)}
    same = {"mode": rng.choice(("same", "valid")), "padding": (0,) * rank, "ceil": False}
    return drawn | same


def _draw_means(rng: random.Random, rank: int) -> Settings:
    drawn = _draw(rng, rank) | {"include": flag(rng), "divisor": 0}
    return drawn | {"divisor": rng.choice((0, 0, 3))} if rank > 1 else drawn


def _pads(settings: Settings) -> windows.Pads:
    if settings["mode"] == "same":
        names = ("sizes", "kernel", "strides", "dilation")
        return windows.same_pads(*(settings[n] for n in names))
    return tuple((p, p) for p in settings["padding"])


def _outputs(settings: Settings) -> windows.Sizes:
    names = ("sizes", "kernel", "strides", "dilation")
    sizes, kernel, strides, dilation = (settings[n] for n in names)
    pads = _pads(settings)
    if not settings["ceil"]:
        return windows.counts(sizes, kernel, strides, dilation, pads)
    found = []
    axes = zip(sizes, windows.reaches(kernel, dilation), strides, pads, strict=True)
    for size, reach, stride, (low, high) in axes:
        count = -(-(size + low + high - reach) // stride) + 1
        found.append(count - 1 if (count - 1) * stride >= size + low else count)
    return tuple(found)


def _fits(settings: Settings) -> bool:
    kernel, sizes = settings["kernel"], settings["sizes"]
    strides, dilation = settings["strides"], settings["dilation"]
    if min(*kernel, *sizes, *strides, *dilation, settings["batch"], settings["channels"]) < 1:
        return False
    if any(2 * p > k for p, k in zip(settings["padding"], kernel, strict=True)):
        return False
    shape = (settings["batch"], settings["channels"], *sizes)
    reach = windows.reaches(kernel, dilation)
    return (
        min(_outputs(settings)) > 0
        and all(n + 2 * p >= r for n, p, r in zip(sizes, settings["padding"], reach, strict=True))
        and is_small(shape, 1 << 15)
    )


def _stacked(settings: Settings, x: np.ndarray, fill: float) -> np.ndarray:
    names = ("kernel", "strides", "dilation")
    kernel, strides, dilation = (settings[n] for n in names)
    outputs = _outputs(settings)
    return windows.windows(x, kernel, strides, dilation, _pads(settings), outputs, fill)


def _one_or_all(numbers: windows.Sizes) -> Any:
    return numbers[0] if len(numbers) == 1 else numbers


def _maxima(settings: Settings, values: Values) -> Problem:
    rank, last = len(settings["kernel"]), settings["channels_last"]
    explicit = {}
    if settings["mode"] == "pad":
        names = ("padding", "dilation")
        explicit = {n: _one_or_all(settings[n]) for n in names} | {"ceil_mode": settings["ceil"]}
    layout = {"data_format": "NHWC"} if last else {}
    kernel, strides = (_one_or_all(settings[n]) for n in ("kernel", "strides"))
    net = _MAXIMA[rank](kernel, strides, settings["mode"], **explicit, **layout)

    def reference(x: np.ndarray) -> np.ndarray:
        found = _stacked(settings, np.moveaxis(x, -1, 1) if last else x, -np.inf).max(0)
        return np.moveaxis(found, 1, -1) if last else found

    x = values.distinct(settings["batch"], settings["channels"], *settings["sizes"])
    given = np.ascontiguousarray(np.moveaxis(x, 1, -1)) if last else x
    return Problem(net, reference, (given,), is_linear=True)


def _means(settings: Settings, values: Values) -> Problem:
    rank, mode = len(settings["kernel"]), settings["mode"]
    kernel, strides = (_one_or_all(settings[n]) for n in ("kernel", "strides"))
    divisor = {"divisor_override": settings["divisor"] or None} if rank > 1 else {}
    pads = {"padding": _one_or_all(settings["padding"])} if mode == "pad" else {}
    counting = {"ceil_mode": settings["ceil"], "count_include_pad": settings["include"]}
    net = _MEANS[rank](kernel, strides, mode, **pads, **counting, **divisor)

    def reference(x: np.ndarray) -> np.ndarray:
        total = _stacked(settings, x, 0.0).sum(0)
        return total / (settings["divisor"] or _numbers(settings, x.shape))

    x = values.normal(settings["batch"], settings["channels"], *settings["sizes"])
    return Problem(net, reference, (x,), is_linear=True)


def _numbers(settings: Settings, shape: windows.Sizes) -> np.ndarray:
    """How many numbers each window holds; what lies beyond the padding never counts."""
    ones = np.ones((1, 1, *shape[2:]))
    if not settings["include"]:
        return _stacked(settings, ones, 0.0).sum(0)
    wide = windows.padded(ones, _pads(settings), 1.0)
    names = ("kernel", "strides", "dilation")
    kernel, strides, dilation = (settings[n] for n in names)
    none = ((0, 0),) * len(kernel)
    outputs = _outputs(settings)
    return windows.windows(wide, kernel, strides, dilation, none, outputs, 0.0).sum(0)


def _powers(settings: Settings, values: Values) -> Problem:
    rank, power = len(settings["kernel"]), settings["power"]
    kernel, strides = (_one_or_all(settings[n]) for n in ("kernel", "strides"))
    net = _POWERS[rank](power, kernel, strides, settings["ceil"])

    def reference(x: np.ndarray) -> np.ndarray:
        total = (_stacked(settings, x, 0.0) ** power).sum(0)
        share = _numbers(settings | {"include": False}, x.shape) / prod(settings["kernel"])
        return (total / share) ** (1 / power)  # windows that reach outside count as whole ones

    x = values.uniform(0.3, 2, settings["batch"], settings["channels"], *settings["sizes"])
    return Problem(net, reference, (x,))


def _draw_powers(rng: random.Random, rank: int) -> Settings:
    drawn = _draw(rng, rank) | {"mode": "valid", "padding": (0,) * rank, "ceil": flag(rng, 0.3)}
    return drawn | {"power": rng.choice((1, 2, 3))}


def _draw_adaptive(rng: random.Random, rank: int, kind: str) -> Settings:
    sizes = some(rng, rank, 1, {1: 30, 2: 12, 3: 6}[rank])
    if rank == 1 or flag(rng, 0.3):  # sizes that the windows divide
        outputs = some(rng, rank, 1, 4)
        sizes = tuple(n * rng.randint(1, 4) for n in outputs)
    else:
        outputs = tuple(rng.randint(1, n) for n in sizes)
    channels = {"batch": size_or_threshold(rng, 3, 8), "channels": rng.randint(1, 4)}
    return {"kind": kind, "sizes": sizes, "outputs": outputs} | channels


def _fits_adaptive(settings: Settings) -> bool:
    numbers = (settings["batch"], settings["channels"], *settings["sizes"])
    if len(settings["sizes"]) == 1 and settings["sizes"][0] % max(settings["outputs"][0], 1):
        return False
    return min(*numbers, *settings["outputs"]) > 0 and is_small(numbers, 1 << 14)


def _adaptive(settings: Settings, values: Values) -> Problem:
    sizes, outputs = settings["sizes"], settings["outputs"]
    rank, kind = len(sizes), settings["kind"]
    net = _ADAPTIVE[kind][rank](_one_or_all(outputs))
    reduce = np.mean if kind == "mean" else np.max

    def reference(x: np.ndarray) -> np.ndarray:
        found = np.empty((*x.shape[:2], *outputs))
        for place in product(*map(range, outputs)):
            part = tuple(
                slice(i * n // m, -(-(i + 1) * n // m))
                for i, n, m in zip(place, sizes, outputs, strict=True)
            )
            axes = tuple(range(2, rank + 2))
            found[(..., *place)] = reduce(x[(slice(None), slice(None), *part)], axis=axes)
        return found

    x = values.distinct(settings["batch"], settings["channels"], *sizes)
    return Problem(net, reference, (x,), is_linear=True)


SUBJECTS = tuple(
    [
        subject
        for rank in (1, 2, 3)
        for subject in (
            Subject(
                f"max pool {rank}d",
                "pooling",
                lambda rng, rank=rank: _draw_maxima(rng, rank),
                _maxima,
                _fits,
            ),
            Subject(
                f"average pool {rank}d",
                "pooling",
                lambda rng, rank=rank: _draw_means(rng, rank),
                _means,
                _fits,
            ),
        )
    ]
    + [
        Subject(
            f"power pool {rank}d",
            "pooling",
            lambda rng, rank=rank: _draw_powers(rng, rank),
            _powers,
            _fits,
        )
        for rank in (1, 2)
    ]
    + [
        Subject(
            f"adaptive {kind} pool {rank}d",
            "pooling",
            lambda rng, rank=rank, kind=kind: _draw_adaptive(rng, rank, kind),
            _adaptive,
            _fits_adaptive,
        )
        for rank in (1, 2, 3)
        for kind in _ADAPTIVE
    ]
)
