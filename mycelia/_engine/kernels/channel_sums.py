"""Sums and moments over all axes except the channels."""

from __future__ import annotations

from mycelia._engine.core.errors import wrong_value
from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.sums import MANY_ROWS, row_sum, row_sums
from mycelia._engine.operators.device import on_cpu

FORMATS = ("NCHW", "NHWC", "NCDHW")
_SAMPLES = 8


def channel_axis(owner: str, data_format: str, rank: int) -> int:
    """The channel axis: the second, or the last for 'NHWC'."""
    if data_format not in FORMATS:
        raise wrong_value(owner, "data_format", data_format, f"str and must be in '{FORMATS}'")
    return rank - 1 if data_format == "NHWC" else 1


def along_channels(rank: int, axis: int, count: int) -> Shape:
    """The shape with which a vector of `count` elements broadcasts along the channel axis."""
    return tuple(count if i == axis else 1 for i in range(rank))


def channel_sum(x: Array, axis: int) -> Array:
    """Sum over every axis but `axis`, as a vector.

    One long sum runs element by element on one core. Two shorter ones, the first over an axis that
    is not the innermost, use vector instructions and all cores. The barrier keeps them separate.
    """
    others = tuple(i for i in range(x.ndim) if i != axis)
    if axis == x.ndim - 1:
        return row_sum(x)
    if x.ndim < 4:
        return jnp.sum(x, axis=others, dtype=x.dtype)
    columns = lax.optimization_barrier(jnp.sum(x, axis=x.ndim - 2, keepdims=True, dtype=x.dtype))
    return jnp.sum(columns, axis=others, dtype=x.dtype)


def channel_sums(a: Array, b: Array, axis: int) -> tuple[Array, Array]:
    """The sums of two arrays over every axis but `axis`; their common inputs are read once."""
    if axis == a.ndim - 1:
        first, second = row_sums((a, b))
        return first, second
    return channel_sum(a, axis), channel_sum(b, axis)


def channel_moments(x: Array, axis: int) -> tuple[Array, Array]:
    """The mean and the variance over every axis but `axis`.

    One loop over all elements, shifted by a typical row: the difference of mean square and squared
    mean is accurate if the mean is small compared to the deviation.
    """
    count = max(1, x.size // max(1, x.shape[axis]))
    if axis == x.ndim - 1 and count >= MANY_ROWS and on_cpu():
        typical = _typical_row(jnp.reshape(x, (count, -1)))
        moved = x - typical
        mean, square = (s / count for s in row_sums((moved, jnp.square(moved))))
        return typical + mean, jnp.maximum(square - jnp.square(mean), 0)
    mean = channel_sum(x, axis) / count
    centred = x - mean.reshape(along_channels(x.ndim, axis, mean.size))
    return mean, channel_sum(jnp.square(centred), axis) / count


def _typical_row(rows: Array) -> Array:
    """The mean of a few rows spread over the array; exact if all rows are equal."""
    step = len(rows) // _SAMPLES
    some = rows[step // 3 :: step][:_SAMPLES]
    return jnp.sum(some, axis=0, dtype=rows.dtype) / _SAMPLES
