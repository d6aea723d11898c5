"""Average pooling and its gradient."""

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
    """Average pooling: window sums divided by window sizes, or by `divisor`.

    With `include_pad`, padding counts towards the window size.
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
    """The gradient of average pooling for an input of `shape`: `dout` spread over each window."""
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
    """Window sums along one axis."""
    single = window.along(axis)
    dim = x.ndim - window.rank + axis
    count = x.shape[dim] // window.kernel[axis]
    if _tiles(window, axis, x.shape[dim]):
        parts = x.reshape(*x.shape[:dim], count, window.kernel[axis], *x.shape[dim + 1 :])
        return jnp.sum(parts, axis=dim + 1, dtype=x.dtype)
    return reduce(jnp.add, shifted(x, single))


def _spread(x: Array, window: Window, axis: int, sizes: Shape) -> Array:
    """The transpose of `_summed`."""
    dim = x.ndim - window.rank + axis
    if _tiles(window, axis, sizes[axis]):
        return jnp.repeat(x, window.kernel[axis], axis=dim)
    single = window.along(axis)
    lead = x.ndim - window.rank
    now = (*x.shape[lead:dim], sizes[axis], *x.shape[dim + 1 :])
    wide = dilated(x, single, now)
    return reduce(jnp.add, (taken_back(wide, single, o, now) for o in offsets(single)))


def _tiles(window: Window, axis: int, size: int) -> bool:
    """Whether the windows tile the axis exactly."""
    kernel = window.kernel[axis]
    touching = kernel == window.strides[axis] and window.dilation[axis] == 1
    return touching and size % kernel == 0 and not any(window.along(axis).padding_of(axis, size))


def _divisors(window: Window, sizes: Shape, include_pad: bool, divisor: int) -> np.ndarray:
    """The divisor of each window sum."""
    if divisor:
        return np.full((), divisor)
    counts = [_counts(window, axis, size, include_pad) for axis, size in enumerate(sizes)]
    return reduce(np.multiply.outer, counts)


def _counts(window: Window, axis: int, size: int, include_pad: bool) -> np.ndarray:
    """The number of elements in each window along one axis."""
    low, high = window.padding_of(axis, size)
    if window.pad_mode == "pad":
        high = window.pads[axis][1]
    elif window.pad_mode == "valid":
        high = 0
    before, after = (low, high) if include_pad else (0, 0)
    starts = np.arange(window.output_of(axis, size)) * window.strides[axis] - low
    points = starts[:, None] + np.arange(window.kernel[axis]) * window.dilation[axis]
    result: np.ndarray = np.sum((points >= -before) & (points < size + after), axis=1)
    return result
