"""Tensors with a channel axis: where it is, and fast sums over all the other axes."""

from __future__ import annotations

from mycelia.core.errors import wrong_value
from mycelia.core.shape import Shape
from mycelia.ops.engine import Array, jnp, lax
from mycelia.ops.sums import row_sum

FORMATS = ("NCHW", "NHWC", "NCDHW")


def channel_axis(owner: str, data_format: str, rank: int) -> int:
    """The axis of the channels: the second, or the last for 'NHWC'."""
    if data_format not in FORMATS:
        raise wrong_value(owner, "data_format", data_format, f"str and must be in '{FORMATS}'")
    return rank - 1 if data_format == "NHWC" else 1


def along_channels(rank: int, axis: int, count: int) -> Shape:
    """The shape that makes a vector of `count` numbers broadcast along the channel axis."""
    return tuple(count if i == axis else 1 for i in range(rank))


def channel_sum(x: Array, axis: int) -> Array:
    """Sum over every axis but `axis`, as a vector.

    One long sum runs number after number on one core; two shorter ones, the first over an axis that
    is not the innermost, use vector instructions and all cores. The barrier keeps them apart.
    """
    others = tuple(i for i in range(x.ndim) if i != axis)
    if axis == x.ndim - 1:
        return row_sum(x)
    if x.ndim < 4:
        return jnp.sum(x, axis=others, dtype=x.dtype)
    columns = lax.optimization_barrier(jnp.sum(x, axis=x.ndim - 2, keepdims=True, dtype=x.dtype))
    return jnp.sum(columns, axis=others, dtype=x.dtype)
