"""Sliding windows in float64 NumPy, written from their definition: convolutions and pooling."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

Sizes = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]


def reaches(kernel: Sizes, dilation: Sizes) -> Sizes:
    return tuple((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))


def same_pads(sizes: Sizes, kernel: Sizes, strides: Sizes, dilation: Sizes) -> Pads:
    """The padding of mode 'same': ceil(size / stride) outputs, the odd zero at the end."""
    found = []
    for size, reach, stride in zip(sizes, reaches(kernel, dilation), strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + reach - size, 0)
        found.append((total // 2, total - total // 2))
    return tuple(found)


def pads_of(
    mode: str, padding: Sizes, sizes: Sizes, kernel: Sizes, strides: Sizes, dilation: Sizes
) -> Pads:
    """The padding before and after each axis; `padding` has two numbers for an axis."""
    if mode == "same":
        return same_pads(sizes, kernel, strides, dilation)
    if mode == "valid":
        return ((0, 0),) * len(sizes)
    return tuple(zip(padding[::2], padding[1::2], strict=True))


def counts(sizes: Sizes, kernel: Sizes, strides: Sizes, dilation: Sizes, pads: Pads) -> Sizes:
    """How many windows fit along each axis."""
    axes = zip(sizes, reaches(kernel, dilation), strides, pads, strict=True)
    return tuple(
        (size + low + high - reach) // stride + 1 for size, reach, stride, (low, high) in axes
    )


def padded(x: np.ndarray, pads: Pads, fill: float = 0.0) -> np.ndarray:
    return np.pad(x, ((0, 0), (0, 0), *pads), constant_values=fill)


def points(
    kernel: Sizes, strides: Sizes, dilation: Sizes, outputs: Sizes
) -> Iterator[tuple[Sizes, tuple[slice, ...]]]:
    """Each point of the kernel, and what it meets at all positions of the window."""
    for point in product(*map(range, kernel)):
        met = tuple(
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(point, dilation, outputs, strides, strict=True)
        )
        yield point, (slice(None), slice(None), *met)


def convolution(
    x: np.ndarray,
    weight: np.ndarray,
    strides: Sizes,
    pads: Pads,
    dilation: Sizes,
    groups: int = 1,
) -> np.ndarray:
    """The convolution of (batch, in, *sizes) with (out, in / groups, *kernel)."""
    kernel, wide = weight.shape[2:], padded(x, pads)
    outputs = counts(x.shape[2:], kernel, strides, dilation, pads)
    batch, grouped = x.shape[0], weight.reshape(groups, -1, *weight.shape[1:])
    total = np.zeros((batch, groups, weight.shape[0] // groups, int(np.prod(outputs))))
    for point, met in points(kernel, strides, dilation, outputs):
        seen = wide[met].reshape(batch, groups, x.shape[1] // groups, -1)
        total += grouped[(..., *point)] @ seen
    return total.reshape(batch, weight.shape[0], *outputs)


def transposed_convolution(
    x: np.ndarray,
    weight: np.ndarray,
    strides: Sizes,
    pads: Pads,
    dilation: Sizes,
    groups: int,
    sizes: Sizes,
) -> np.ndarray:
    """The transpose of a convolution of images of `sizes`; the weight is (in, out / groups, *)."""
    kernel, outputs, batch = weight.shape[2:], x.shape[2:], x.shape[0]
    channels = weight.shape[1] * groups
    widths = [low + size + high for size, (low, high) in zip(sizes, pads, strict=True)]
    total = np.zeros((batch, channels, *widths))
    grouped = weight.reshape(groups, -1, *weight.shape[1:])
    given = x.reshape(batch, groups, x.shape[1] // groups, -1)
    for point, met in points(kernel, strides, dilation, outputs):
        spread = np.swapaxes(grouped[(..., *point)], -1, -2) @ given
        total[met] += spread.reshape(batch, channels, *outputs)
    kept = [slice(low, low + size) for size, (low, _) in zip(sizes, pads, strict=True)]
    return total[(slice(None), slice(None), *kept)]


def windows(
    x: np.ndarray,
    kernel: Sizes,
    strides: Sizes,
    dilation: Sizes,
    pads: Pads,
    outputs: Sizes,
    fill: float,
) -> np.ndarray:
    """What each point of the window meets: (points, batch, channels, *outputs).

    `fill` is around `x`, also where windows reach beyond the padding.
    """
    reach = reaches(kernel, dilation)
    ends = [
        max(high, (n - 1) * s + r - size - low)
        for size, (low, high), n, s, r in zip(
            x.shape[2:], pads, outputs, strides, reach, strict=True
        )
    ]
    around = tuple((low, end) for (low, _), end in zip(pads, ends, strict=True))
    wide = padded(x, around, fill)
    return np.stack([wide[met] for _, met in points(kernel, strides, dilation, outputs)])
