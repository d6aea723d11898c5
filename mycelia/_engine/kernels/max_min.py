"""Maximum, minimum, argmax, and argmin, fast on CPU.

Along the last axis, or over all axes, XLA on CPU compares element by element. Here, parts are
compared with each other first: vector loops, which along rows fuse with the computation of `x`.
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
_MANY_INDICES = 1 << 14  # elements; with fewer, fusing with the computation of `x` is faster


def largest(
    x: Array, axes: tuple[int, ...], keepdims: bool = False, initial: float | None = None
) -> Array:
    """The maximum over axes (not negative), and at least `initial`.

    Measured: for 1024 rows of 8192 sums it takes 2.1 ms instead of 6.6, for 12288 rows of 128
    elements 0.3 instead of 0.8.
    """
    return _extreme(partial(jnp.max, initial=initial), jnp.maximum, x, axes, keepdims)


def smallest(x: Array, axes: tuple[int, ...], keepdims: bool = False) -> Array:
    """The minimum over axes (not negative)."""
    return _extreme(jnp.min, jnp.minimum, x, axes, keepdims)


def argmax_along(x: Array, axis: int, keepdims: bool = False) -> Array:
    """The index of the maximum along an axis: the first of equal ones, or the first NaN.

    XLA compares pairs of value and index, one after another. Computing the maximum first, and then
    the smallest index that has it, takes 0.5 ms instead of 4.9 for 64 rows of 32,000.
    """
    return _first_index(largest, jnp.argmax, x, axis, keepdims)


def argmin_along(x: Array, axis: int, keepdims: bool = False) -> Array:
    """The index of the minimum along an axis: the first of equal ones, or the first NaN."""
    return _first_index(smallest, jnp.argmin, x, axis, keepdims)


def _first_index(
    choose: Callable[..., Array], plain: Callable[..., Array], x: Array, axis: int, keepdims: bool
) -> Array:
    if x.size < _MANY_INDICES or not on_cpu():
        return plain(x, axis=axis, keepdims=keepdims)
    return _search(choose, x, normalize_axis(axis, x.ndim, "axis"), keepdims)


@fusion_barrier("choose", "axis", "keepdims")
def _search(choose: Callable[..., Array], x: Array, axis: int, keepdims: bool) -> Array:
    """Separate, since `x` must not be computed twice: other rounding would break equality."""
    length = x.shape[axis]
    is_chosen = (x == choose(x, (axis,), True)) | (x != x)
    counting = np.int32 if length <= np.iinfo(np.int32).max else np.int64
    indices = jnp.where(is_chosen, lax.broadcasted_iota(counting, x.shape, axis), length)
    return smallest(indices, (axis,), keepdims)


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
    """Column maxima (or minima); a barrier keeps XLA from fusing both reductions into one.

    Measured: for 256 x 256 elements the maximum takes 0.03 ms instead of 0.12, for a million 0.14
    instead of 0.68.
    """
    width = gcd(flat.size, _COLUMNS)
    if width >= LONG_ROW:
        return lax.optimization_barrier(choose(flat.reshape(-1, width), axis=0))
    rest = flat.size % _COLUMNS
    return jnp.concatenate([_best_of_columns(choose, flat[:-rest]), flat[-rest:]])
