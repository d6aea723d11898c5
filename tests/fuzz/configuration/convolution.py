"""Convolutions over one, two, and three axes, grouped, depthwise, and transposed."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import numpy as np

from mycelia import nn, ops
from tests.fuzz.configuration import windows
from tests.fuzz.configuration.draws import around, flag, is_small, size_or_threshold, some
from tests.fuzz.configuration.subject import ALL, Problem, Settings, Subject, Values

_LAYERS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
_TRANSPOSED = {1: nn.Conv1dTranspose, 2: nn.Conv2dTranspose, 3: nn.Conv3dTranspose}
# counts of channels and images from which forms are chosen: columns, tiles, batch last, vectors of
# outputs, sums first
_CHANNELS = (4, 8, 16, 32, 64, 96)
_BATCHES = (2, 8)


def _draw(rng: random.Random, rank: int) -> Settings:
    """Any sizes; sometimes as many channels as forms are chosen by."""
    group = rng.choice((1, 1, 1, 2, 3))
    depthwise = flag(rng, 0.15)
    inputs = size_or_threshold(rng, 6, *_CHANNELS[: 3 if group > 1 else 6])
    outputs = size_or_threshold(rng, 6, *_CHANNELS[: 3 if group > 1 else 6])
    if depthwise:
        group, inputs, outputs = inputs, 1, rng.choice((1, 1, 2))
    kernel, dilation = some(rng, rank, 1, 5), some(rng, rank, 1, rng.choice((1, 1, 3)))
    if flag(rng, 0.3):
        kernel = (rng.choice((1, 3, 3)),) * rank
    strides = some(rng, rank, 1, rng.choice((1, 2, 4)))
    if flag(rng, 0.3):
        strides = (strides[0],) * rank
    least = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    spread = {1: 40, 2: 20, 3: 6}[rank]
    return {
        "batch": size_or_threshold(rng, 4, *_BATCHES),
        "inputs": inputs * group,
        "outputs": outputs * group,
        "group": group,
        "kernel": kernel,
        "strides": strides,
        "dilation": dilation,
        "sizes": tuple(max(1, n + rng.randint(-2, spread)) for n in least),
        "mode": rng.choice(("same", "valid", "pad", "pad")),
        "padding": _padding(rng, rank),
        "has_bias": flag(rng),
    }


def _padding(rng: random.Random, rank: int) -> windows.Sizes:
    if rank == 1:
        return (rng.randint(0, rng.choice((1, 2, 6))),) * 2
    return tuple(rng.randint(0, rng.choice((1, 2, 6))) for _ in range(2 * rank))


def _draw_2d(rng: random.Random) -> Settings:
    layout = {"channels_last": flag(rng, 0.3)}
    if flag(rng, 0.25):
        return _at_a_threshold(rng) | layout
    return _draw(rng, 2) | layout


def _at_a_threshold(rng: random.Random) -> Settings:
    """Sizes around those of Winograd's form, of native kernels, of points, of phases, of tiles."""
    kind = rng.choice(("sums", "native", "point", "phases", "tiles"))
    kernel = {"sums": 3, "point": 1}.get(kind) or rng.randint(2, 5)
    stride = rng.choice((2, 3)) if kind == "phases" else rng.choice((1, 1, 2))
    channels = {"sums": (64, 96), "tiles": (1, 8)}.get(kind, (16, 32, 64))
    sizes = (around(rng, 14), around(rng, 14, 15, 16)) if kind != "sums" else some(rng, 2, 10, 15)
    return {
        "batch": around(rng, 2, 8) if kind != "native" else rng.randint(1, 4),
        "inputs": around(rng, *channels),
        "outputs": around(rng, *channels) if kind == "sums" else rng.choice((8, 31, 32, 64)),
        "group": 1,
        "kernel": (kernel, kernel),
        "strides": (1, 1) if kind in ("sums", "tiles") else (stride, stride),
        "dilation": (1, 1),
        "sizes": tuple(n + 6 for n in sizes) if kind == "native" else sizes,
        "mode": rng.choice(("same", "valid", "pad")),
        "padding": some(rng, 4, 0, rng.choice((1, 2, 3))),
        "has_bias": flag(rng),
    }


def _fits(settings: Settings) -> bool:
    found = _outputs(settings)
    if len(settings["kernel"]) == 1 and len(set(settings["padding"])) > 1:
        return False
    group = settings["group"]
    divides = settings["inputs"] % group == settings["outputs"] % group == 0
    known = prod(found) * settings["batch"] * settings["outputs"]
    work = known * settings["inputs"] // max(group, 1) * prod(settings["kernel"])
    numbers = settings["batch"] * settings["inputs"] * prod(settings["sizes"])
    return divides and group > 0 and min(found) > 0 and is_small((numbers,)) and work < 5e7


def _outputs(settings: Settings) -> windows.Sizes:
    kernel, strides, dilation = (settings[n] for n in ("kernel", "strides", "dilation"))
    if min(*kernel, *strides, *dilation, *settings["sizes"], settings["group"]) < 1:
        return (0,)
    if min(settings["batch"], settings["inputs"], settings["outputs"]) < 1:
        return (0,)
    sizes = settings["sizes"]
    return windows.counts(sizes, kernel, strides, dilation, _pads(settings, sizes))


def _pads(settings: Settings, sizes: windows.Sizes) -> windows.Pads:
    names = ("mode", "padding", "kernel", "strides", "dilation")
    mode, padding, kernel, strides, dilation = (settings[n] for n in names)
    return windows.pads_of(mode, padding, sizes, kernel, strides, dilation)


def _given_padding(settings: Settings, rank: int) -> Any:
    """The padding as the layers take it; that over one axis is a single number for both sides."""
    if settings["mode"] != "pad":
        return 0
    return settings["padding"][0] if rank == 1 else settings["padding"]


def convolution_problem(settings: Settings, values: Values) -> Problem:
    rank, last = len(settings["kernel"]), settings.get("channels_last", False)
    names = ("kernel", "strides", "dilation", "group", "inputs", "outputs")
    kernel, strides, dilation, group, inputs, outputs = (settings[n] for n in names)
    padding = _given_padding(settings, rank)
    layout = {"data_format": "NHWC"} if last else {}
    net = _LAYERS[rank](
        inputs,
        outputs,
        *((v[0] if rank == 1 else v) for v in (kernel, strides)),
        settings["mode"],
        padding,
        *((v[0] if rank == 1 else v) for v in (dilation,)),
        group,
        settings["has_bias"],
        **layout,
        dtype=values.dtype,
    )
    sizes = settings["sizes"]
    x = values.normal(settings["batch"], inputs, *sizes)

    def reference(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        if last:
            x, weight = np.moveaxis(x, -1, 1), np.moveaxis(weight, -1, 1)
        if rank == 1 and weight.ndim == 4:
            weight = weight[:, :, 0]
        found = windows.convolution(x, weight, strides, _pads(settings, sizes), dilation, group)
        found = found if bias is None else found + bias.reshape(-1, *(1,) * rank)
        return np.moveaxis(found, 1, -1) if last else found

    given = np.ascontiguousarray(np.moveaxis(x, 1, -1)) if last else x
    return Problem(net, reference, (given,), values.weights(net))


def _draw_transposed(rng: random.Random, rank: int) -> Settings:
    drawn = _draw(rng, rank)
    small = tuple(min(n, {1: 20, 2: 8, 3: 4}[rank]) for n in drawn["sizes"])
    return drawn | {"sizes": small, "mode": rng.choice(("valid", "same", "pad"))}


def _enlarged(settings: Settings) -> windows.Sizes:
    """The sizes of the result of a transposed convolution."""
    names = ("sizes", "kernel", "strides", "dilation", "mode", "padding")
    sizes, kernel, strides, dilation, mode, padding = (settings[n] for n in names)
    found = []
    for i, (n, s, r) in enumerate(
        zip(sizes, strides, windows.reaches(kernel, dilation), strict=True)
    ):
        if mode == "same":
            found.append(n * s)
        elif mode == "valid":
            found.append((n - 1) * s + max(r, s))
        else:
            found.append((n - 1) * s + r - padding[2 * i] - padding[2 * i + 1])
    return tuple(found)


def _fits_transposed(settings: Settings) -> bool:
    names = ("kernel", "strides", "dilation", "sizes")
    if min(min(settings[n]) for n in names) < 1:
        return False
    enlarged = _enlarged(settings)
    return min(enlarged) > 0 and _fits(settings | {"sizes": enlarged})


def _transposed_problem(settings: Settings, values: Values) -> Problem:
    rank = len(settings["kernel"])
    names = ("kernel", "strides", "dilation", "group", "inputs", "outputs")
    kernel, strides, dilation, group, inputs, outputs = (settings[n] for n in names)
    net = _TRANSPOSED[rank](
        inputs,
        outputs,
        *((v[0] if rank == 1 else v) for v in (kernel, strides)),
        settings["mode"],
        _given_padding(settings, rank),
        **{"dilation": dilation[0] if rank == 1 else dilation},
        group=group,
        has_bias=settings["has_bias"],
        dtype=values.dtype,
    )
    enlarged = _enlarged(settings)

    def reference(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        if rank == 1 and weight.ndim == 4:
            weight = weight[:, :, 0]
        pads = _pads(settings, enlarged)
        found = windows.transposed_convolution(x, weight, strides, pads, dilation, group, enlarged)
        return found if bias is None else found + bias.reshape(-1, *(1,) * rank)

    x = values.normal(settings["batch"], inputs, *settings["sizes"])
    return Problem(net, reference, (x,), values.weights(net))


def _draw_unfold(rng: random.Random) -> Settings:
    drawn = _draw(rng, 2)
    return drawn | {"inputs": rng.randint(1, 4), "outputs": 1, "group": 1, "mode": "pad",
                    "padding": (drawn["padding"][0],) * 2 + (drawn["padding"][1],) * 2}  # fmt: skip


def _unfold_problem(settings: Settings, values: Values) -> Problem:
    names = ("kernel", "dilation", "strides", "sizes", "inputs", "batch", "padding")
    kernel, dilation, strides, sizes, channels, batch, padding = (settings[n] for n in names)

    def call(x: Any) -> Any:
        return ops.unfold(x, kernel, dilation, padding[::2], strides)

    def reference(x: np.ndarray) -> np.ndarray:
        pads = _pads(settings, sizes)
        outputs = windows.counts(sizes, kernel, strides, dilation, pads)
        found = windows.windows(x, kernel, strides, dilation, pads, outputs, 0.0)
        moved = np.moveaxis(found, 0, 2)
        return moved.reshape(batch, channels * prod(kernel), prod(outputs))

    return Problem(call, reference, (values.normal(batch, channels, *sizes),), is_linear=True)


SUBJECTS = (
    Subject("conv1d", "convolution", lambda rng: _draw(rng, 1), convolution_problem, _fits, ALL),
    Subject("conv2d", "convolution", _draw_2d, convolution_problem, _fits, ALL),
    Subject("conv2d wide", "convolution", _draw_2d, convolution_problem, _fits, ("float32",)),
    Subject("conv3d", "convolution", lambda rng: _draw(rng, 3), convolution_problem, _fits),
    *(
        Subject(
            f"conv{rank}d transposed",
            "convolution",
            lambda rng, rank=rank: _draw_transposed(rng, rank),
            _transposed_problem,
            _fits_transposed,
        )
        for rank in (1, 2, 3)
    ),
    Subject("unfold", "convolution", _draw_unfold, _unfold_problem, _fits),
)
