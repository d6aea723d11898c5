"""The largest and the smallest of many numbers, in forms that are fast on CPU.

Along the last axis, or over all, XLA there compares number after number. Parts are compared with
each other first: vector loops, which along rows fuse with how the numbers are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from math import gcd

import numpy as np

from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.fusion_barrier import fusion_barrier
from mycelia._engine.kernels.sums import LONG_ROW, MANY, few_parts
from mycelia._engine.operators.device import on_cpu

_COLUMNS = 256
_MANY_PLACES = 1 << 14  # numbers; fewer are searched faster along with what computes them


def largest(
    x: Array, axes: tuple[int, ...], keepdims: bool = False, initial: float | None = None
) -> Array:
    """The largest number over axes (not negative), and not below `initial`.

    Measured: of 1024 rows of 8192 sums it takes 2.1 ms instead of 6.6, of 12288 rows of 128
    numbers 0.3 instead of 0.8.
    """
    return _extreme(partial(jnp.max, initial=initial), jnp.maximum, x, axes, keepdims)


def smallest(x: Array, axes: tuple[int, ...], keepdims: bool = False) -> Array:
    """The smallest number over axes (not negative)."""
    return _extreme(jnp.min, jnp.minimum, x, axes, keepdims)


def argmax_along(x: Array, axis: int, keepdims: bool = False) -> Array:
    """Where along an axis the largest number is: the first of equals, or the first NaN.

    XLA compares pairs of number and place, one after the other. To choose the number first, and
    then the smallest place that has it, takes 0.5 ms instead of 4.9 for 64 rows of 32,000.
    """
    return _place(largest, jnp.argmax, x, axis, keepdims)


def argmin_along(x: Array, axis: int, keepdims: bool = False) -> Array:
    """Where along an axis the smallest number is: the first of equals, or the first NaN."""
    return _place(smallest, jnp.argmin, x, axis, keepdims)


def _place(
    choose: Callable[..., Array], plain: Callable[..., Array], x: Array, axis: int, keepdims: bool
) -> Array:
    if x.size < _MANY_PLACES or not on_cpu():
        return plain(x, axis=axis, keepdims=keepdims)
    return _first_place(choose, x, normalize_axis(axis, x.ndim, "axis"), keepdims)


@fusion_barrier("choose", "axis", "keepdims")
def _first_place(choose: Callable[..., Array], x: Array, axis: int, keepdims: bool) -> Array:
    """Apart, since `x` must not be computed twice: rounded otherwise, nothing would be equal."""
    length = x.shape[axis]
    is_chosen = (x == choose(x, (axis,), True)) | (x != x)
    counting = np.int32 if length <= np.iinfo(np.int32).max else np.int64
    places = jnp.where(is_chosen, lax.broadcasted_iota(counting, x.shape, axis), length)
    return smallest(places, (axis,), keepdims)


def _extreme(
    choose: Callable[..., Array],
    better: Callable[[Array, Array], Array],
    x: Array,
    axes: tuple[int, ...],
    keepdims: bool,
) -> Array:
    if len(set(axes)) == x.ndim and x.size >= MANY and on_cpu():
        x = _best_of_columns(choose, x.reshape(-1))
        return choose(x).reshape((1,) * len(axes) if keepdims else ())
    *rows, length = x.shape or (1,)
    few = few_parts(length)
    if set(axes) == {x.ndim - 1} and length >= LONG_ROW and few > 1 and on_cpu():
        x = choose(x.reshape(*rows, few, length // few), axis=-2)
        x = reduce(better, jnp.split(x, few_parts(length // few), axis=-1))
    return choose(x, axis=axes, keepdims=keepdims)


def _best_of_columns(choose: Callable[..., Array], flat: Array) -> Array:
    """A few numbers, among them the chosen one; a barrier keeps XLA from choosing all at once.

    Measured: of 256 x 256 numbers the largest takes 0.03 ms instead of 0.12, of a million 0.14
    instead of 0.68.
    """
    width = gcd(flat.size, _COLUMNS)
    if width >= LONG_ROW:
        return lax.optimization_barrier(choose(flat.reshape(-1, width), axis=0))
    rest = flat.size % _COLUMNS
    return jnp.concatenate([_best_of_columns(choose, flat[:-rest]), flat[-rest:]])
