"""Shifted copies of arrays: the values that each point of a window reads, and the inverse.

The last axes of the arrays are the spatial ones, as many as the window has.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, lax
from mycelia._engine.operators.window import Window


def with_zeros(x: Array, edges: Sequence[tuple[int, int, int]]) -> Array:
    """`x` with zeros before, after, and between its elements; unchanged if there are none."""
    return lax.pad(x, np.zeros((), x.dtype), edges) if np.any(edges) else x


def offsets(window: Window) -> list[Shape]:
    """The points of the window, row by row, as offsets from its first point."""
    axes = zip(window.kernel, window.dilation, strict=True)
    return list(product(*(range(0, k * d, d) for k, d in axes)))


def shifted(x: Array, window: Window, fill: float = 0) -> list[Array]:
    """For each point of the window, the values that it reads at every window position."""
    lead = x.ndim - window.rank
    pads = window.padding(x.shape[lead:])
    if any(map(any, pads)):
        edges = [(0, 0, 0)] * lead + [(low, high, 0) for low, high in pads]
        x = lax.pad(x, np.asarray(fill, x.dtype), edges)
    return [_values_at(x, window, offset, lead) for offset in offsets(window)]


def _values_at(x: Array, window: Window, offset: Shape, lead: int) -> Array:
    axes = zip(offset, window.strides, window.reach, strict=True)
    for axis, (start, stride, reach) in enumerate(axes, lead):
        stop = x.shape[axis] - reach + 1 + start
        x = lax.slice_in_dim(x, start, stop, stride, axis)
    return x


def dilated(x: Array, window: Window, sizes: Shape, fill: float = 0) -> Array:
    """`x`, one value per window position, placed where the windows of an input start.

    Gaps and edges are `fill`, with room for `taken_back` at every point of the window. The result
    is materialized: it is read many times, and recomputing it each time costs more.
    """
    lead = x.ndim - window.rank
    edges = [(0, 0, 0)] * lead
    for axis, (low, _) in enumerate(window.padding(sizes)):
        stride, reach = window.strides[axis], window.reach[axis]
        span = (x.shape[lead + axis] - 1) * stride + 1
        edges.append((reach - 1 - low, sizes[axis] + low - span, stride - 1))
    return lax.optimization_barrier(lax.pad(x, np.asarray(fill, x.dtype), edges))


def taken_back(wide: Array, window: Window, offset: Shape, sizes: Shape) -> Array:
    """From `dilated` values, those of the windows that read each input position at `offset`."""
    lead = wide.ndim - window.rank
    for axis, (reach, start, size) in enumerate(
        zip(window.reach, offset, sizes, strict=True), lead
    ):
        first = reach - 1 - start
        wide = lax.slice_in_dim(wide, first, first + size, axis=axis)
    return wide
