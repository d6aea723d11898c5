"""The average of every window of an array, and its gradient."""

from __future__ import annotations

from functools import reduce

import numpy as np

from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.dot import wide_dtype
from mycelia._engine.kernels.reduce_window import is_plain, plain_sum, plain_sum_gradient
from mycelia._engine.kernels.shifted_windows import dilated, offsets, shifted, taken_back
from mycelia._engine.operators.window import Window


def average(x: Array, window: Window, include_pad: bool, divisor: int = 0) -> Array:
    """The sums of all windows over their sizes, or over `divisor`.

    Padding counts as part of a window with `include_pad`.
    """
    counts = _divisors(window, x.shape[x.ndim - window.rank :], include_pad, divisor)
    total = jnp.asarray(x, wide_dtype(x.dtype))
    if is_plain(window):
        total = plain_sum(total, window)
    else:
        for axis in range(window.rank):
            total = _summed(total, window, axis)
    return (total / counts.astype(total.dtype)).astype(x.dtype)


def average_gradient(
    dout: Array, window: Window, include_pad: bool, divisor: int, shape: Shape
) -> Array:
    """`dout`, one number for each window, spread evenly over an input of `shape`."""
    sizes = shape[len(shape) - window.rank :]
    counts = _divisors(window, sizes, include_pad, divisor)
    total = jnp.asarray(dout, wide_dtype(dout.dtype))
    total = total / counts.astype(total.dtype)
    if is_plain(window):
        total = plain_sum_gradient(total, window, shape)
    else:
        for axis in reversed(range(window.rank)):
            total = _spread(total, window, axis, sizes)
    return total.astype(dout.dtype)


def _summed(x: Array, window: Window, axis: int) -> Array:
    """Sums of the windows along one axis."""
    single = window.along(axis)
    place = x.ndim - window.rank + axis
    count = x.shape[place] // window.kernel[axis]
    if _tiles(window, axis, x.shape[place]):
        parts = x.reshape(*x.shape[:place], count, window.kernel[axis], *x.shape[place + 1 :])
        return jnp.sum(parts, axis=place + 1, dtype=x.dtype)
    return reduce(jnp.add, shifted(x, single))


def _spread(x: Array, window: Window, axis: int, sizes: Shape) -> Array:
    """The transpose of `_summed`."""
    place = x.ndim - window.rank + axis
    if _tiles(window, axis, sizes[axis]):
        return jnp.repeat(x, window.kernel[axis], axis=place)
    single = window.along(axis)
    lead = x.ndim - window.rank
    now = (*x.shape[lead:place], sizes[axis], *x.shape[place + 1 :])
    wide = dilated(x, single, now)
    return reduce(jnp.add, (taken_back(wide, single, o, now) for o in offsets(single)))


def _tiles(window: Window, axis: int, size: int) -> bool:
    """Whether the windows cover the axis exactly, side by side."""
    kernel = window.kernel[axis]
    touching = kernel == window.strides[axis] and window.dilation[axis] == 1
    return touching and size % kernel == 0 and not any(window.along(axis).padding_of(axis, size))


def _divisors(window: Window, sizes: Shape, include_pad: bool, divisor: int) -> np.ndarray:
    """What the sum of each window is divided by."""
    if divisor:
        return np.full((), divisor)
    counts = [_counts(window, axis, size, include_pad) for axis, size in enumerate(sizes)]
    return reduce(np.multiply.outer, counts)


def _counts(window: Window, axis: int, size: int, include_pad: bool) -> np.ndarray:
    """How many numbers each window holds along one axis."""
    low, high = window.padding_of(axis, size)
    if window.pad_mode == "pad":
        high = window.pads[axis][1]
    elif window.pad_mode == "valid":
        high = 0
    before, after = (low, high) if include_pad else (0, 0)
    starts = np.arange(window.output_of(axis, size)) * window.strides[axis] - low
    points = starts[:, None] + np.arange(window.kernel[axis]) * window.dilation[axis]
    return np.sum((points >= -before) & (points < size + after), axis=1)
