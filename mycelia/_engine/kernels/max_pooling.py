"""Max pooling: values, indices, and gradient.

On CPU, windows are reduced one axis after another, which costs the sum of their sizes instead of
the product. The gradient is a sum of masked shifts, many times faster than select-and-scatter.
Small images that non-overlapping windows tile are computed in batch-last layout. Among equal
elements the first in row-major order counts.
"""

from __future__ import annotations

from functools import reduce
from math import prod

import numpy as np

from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.batch_last import batch_first, batch_last, prefers_batch_last
from mycelia._engine.kernels.fusion_barrier import fusion_barrier
from mycelia._engine.kernels.reduce_window import is_plain, plain_largest, plain_largest_gradient
from mycelia._engine.kernels.shifted_windows import (
    dilated,
    offsets,
    shifted,
    taken_back,
    with_zeros,
)
from mycelia._engine.operators.window import Window

_SMALL = 9


def largest(x: Array, window: Window) -> Array:
    """The maximum of each window."""
    if is_plain(window):
        return plain_largest(x, window)
    if _is_tiled(x.shape, window):
        return batch_first(_tiled_largest(batch_last(x), window))
    for axis in range(window.rank):
        x = lax.optimization_barrier(_largest(x, window.along(axis)))
    return x


def largest_and_place(x: Array, window: Window, dtype: np.dtype) -> tuple[Array, Array]:
    """The maxima, and their indices into the flattened spatial axes."""
    sizes = x.shape[x.ndim - window.rank :]
    indices = jnp.arange(prod(sizes), dtype=dtype).reshape(sizes)
    indices = jnp.broadcast_to(indices, x.shape)
    for axis in reversed(range(window.rank)):
        single = window.along(axis)
        first, *others = zip(shifted(x, single, -np.inf), shifted(indices, single), strict=True)
        x, indices = first
        for value, index in others:
            larger = value > x
            x, indices = jnp.where(larger, value, x), jnp.where(larger, index, indices)
    return x, indices


def largest_gradient(x: Array, dout: Array, window: Window) -> Array:
    """The gradient of max pooling: each element of `dout` goes to the index of its maximum."""
    if is_plain(window):
        return plain_largest_gradient(x, dout, window)
    if _is_tiled(x.shape, window):
        return batch_first(_tiled_gradient(batch_last(x), batch_last(dout), window))
    small = prod(window.kernel) <= _SMALL
    stages = [window] if small else [window.along(a) for a in reversed(range(window.rank))]
    inputs = [x]
    for stage in stages[:-1]:
        inputs.append(lax.optimization_barrier(_largest(inputs[-1], stage)))
    for stage, values in zip(reversed(stages), reversed(inputs), strict=True):
        point = lax.optimization_barrier(_first_largest(values, stage))
        dout = _given_back(point, dout, stage, values.shape)
    return dout


def _largest(x: Array, window: Window) -> Array:
    first, *others = shifted(x, window, -np.inf)
    for other in others:
        first = jnp.maximum(first, other)
    return first


def _first_largest(x: Array, window: Window) -> Array:
    """For each window, the point (by number) that has the maximum."""
    return _argmax(shifted(x, window, -np.inf))


def _argmax(candidates: list[Array]) -> Array:
    """The index of the array with the maximum, element by element; the first of equal ones."""
    first, *others = candidates
    point = jnp.zeros(first.shape, np.int8 if len(candidates) < 128 else np.int32)
    for number, other in enumerate(others, 1):
        larger = other > first
        first = jnp.where(larger, other, first)
        point = jnp.where(larger, np.asarray(number, point.dtype), point)
    return point


def _given_back(point: Array, dout: Array, window: Window, shape: Shape) -> Array:
    lead = len(shape) - window.rank
    sizes = shape[lead:]
    nothing = np.zeros((), dout.dtype)
    if _side_by_side(window, sizes):
        parts = [jnp.where(point == n, dout, nothing) for n in range(prod(window.kernel))]
        return _filled_up(_interleaved(parts, window, lead), shape)
    points, wide = dilated(point, window, sizes, -1), dilated(dout, window, sizes)
    total = jnp.zeros(shape, dout.dtype)
    for number, offset in enumerate(offsets(window)):
        mine = taken_back(points, window, offset, sizes) == number
        total = total + jnp.where(mine, taken_back(wide, window, offset, sizes), nothing)
    return total


def _is_tiled(shape: Shape, window: Window) -> bool:
    """Whether non-overlapping windows tile the images, which then use batch-last layout."""
    has_channels = len(shape) == window.rank + 2
    return has_channels and prefers_batch_last(shape) and _side_by_side(window, shape[2:])


def _pieces(images: Array, window: Window) -> list[Array]:
    """For each point of non-overlapping windows, its values in batch-last images."""
    *sizes, batch = images.shape
    ends = [n - n % step for n, step in zip(sizes[1:], window.strides, strict=True)]
    return [
        lax.slice(images, (0, *o, 0), (sizes[0], *ends, batch), (1, *window.strides, 1))
        for o in offsets(window)
    ]


@fusion_barrier("window")
def _tiled_largest(images: Array, window: Window) -> Array:
    """The maxima of non-overlapping windows of batch-last images."""
    return reduce(jnp.maximum, _pieces(images, window))


@fusion_barrier("window")
def _tiled_gradient(images: Array, dout: Array, window: Window) -> Array:
    """The gradient of batch-last images for non-overlapping windows."""
    point = _argmax(_pieces(images, window))
    nothing = np.zeros((), dout.dtype)
    parts = [jnp.where(point == n, dout, nothing) for n in range(prod(window.kernel))]
    return _filled_up(_interleaved(parts, window, 1), images.shape)


def _side_by_side(window: Window, sizes: Shape) -> bool:
    """Whether the windows touch without overlap or padding."""
    touching = window.kernel == window.strides and set(window.dilation) == {1}
    return touching and not np.any(window.padding(sizes))


def _interleaved(parts: list[Array], window: Window, lead: int) -> Array:
    """One array from the values for each point of non-overlapping windows."""
    for axis in reversed(range(window.rank)):
        count = window.kernel[axis]
        rows = [parts[i : i + count] for i in range(0, len(parts), count)]
        parts = [_merged(row, lead + axis) for row in rows]
    return parts[0]


def _merged(parts: list[Array], axis: int) -> Array:
    shape = parts[0].shape
    stacked = jnp.stack(parts, axis + 1)
    return stacked.reshape(*shape[:axis], shape[axis] * len(parts), *shape[axis + 1 :])


def _filled_up(x: Array, shape: Shape) -> Array:
    """`x` padded with zeros at the end of each axis, where no window reaches."""
    missing = [(0, expected - size, 0) for expected, size in zip(shape, x.shape, strict=True)]
    return with_zeros(x, missing)
