"""The only call of XLA's convolution, with padding that XLA handles correctly.

XLA does not check negative padding on CPU: such a convolution reads memory before or after its
input. So the padding is split into slices, explicit zeros, and XLA padding. Along every axis

- the padding is not negative: a negative edge is a slice of the input,
- the windows end where the padded input ends: elements that no window reads are cut off,
- the padding is smaller than the window and the span of the outputs: further zeros are added to
  the input first.

The derivatives of such a convolution, of any order and as jax writes them, are convolutions that
satisfy these rules, too. With the spans a of the input, b of the window, and c of the outputs,
including gaps of strides and dilations, low + high = b + c - 1 - a; the low padding of a derivative
is not negative because it is low, b - 1 - low, or c - 1 - low, and neither is its high padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, lax
from mycelia._engine.operators.window import Pads


class _AxisEdges(NamedTuple):
    """Along one axis: the slice of the input, the zeros added to it, and the padding for XLA."""

    kept: slice
    zeros: tuple[int, int]
    padding: tuple[int, int]


def xla_convolution(
    x: Array,
    weight: Array,
    strides: Shape,
    padding: Pads,
    dilation: Shape,
    axes: lax.ConvDimensionNumbers,
    groups: int = 1,
) -> Array:
    """The convolution of `x` with `weight`, for any padding, including negative edges.

    `axes` holds the axes (batch, channel, *spatial) of `x` and of the result, and those
    (out, in, *spatial) of `weight`.
    """
    sizes = [x.shape[axis] for axis in axes.lhs_spec[2:]]
    reaches = [
        (weight.shape[axis] - 1) * step + 1
        for axis, step in zip(axes.rhs_spec[2:], dilation, strict=True)
    ]
    edges = [
        _edges(size, reach, stride, *pads)
        for size, reach, stride, pads in zip(sizes, reaches, strides, padding, strict=True)
    ]
    return lax.conv_general_dilated(
        _cut(x, edges, axes.lhs_spec[2:]),
        weight,
        strides,
        [edge.padding for edge in edges],
        rhs_dilation=dilation,
        dimension_numbers=axes,
        feature_group_count=groups,
    )


def _edges(size: int, reach: int, stride: int, low: int, high: int) -> _AxisEdges:
    """How to split padding of `low` and `high` for a window of `reach` over `size` elements."""
    high -= (size + low + high - reach) % stride
    total = size + low + high
    kept = slice(max(-low, 0), size + min(high, 0))
    around = (max(low, 0), max(high, 0)) if kept.start < kept.stop else (0, total)
    most = max(min(reach, total - reach + 1) - 1, 0)
    inside = min(around[0], most), min(around[1], most)
    return _AxisEdges(kept, (around[0] - inside[0], around[1] - inside[1]), inside)


def _cut(x: Array, edges: Sequence[_AxisEdges], spatial: Sequence[int]) -> Array:
    """`x` sliced, and padded with explicit zeros."""
    zeros = [(0, 0, 0)] * x.ndim
    for axis, edge in zip(spatial, edges, strict=True):
        if edge.kept != slice(0, x.shape[axis]):
            stop = max(edge.kept.start, edge.kept.stop)
            x = lax.slice_in_dim(x, min(edge.kept.start, stop), stop, axis=axis)
        zeros[axis] = (*edge.zeros, 0)
    return lax.pad(x, np.zeros((), x.dtype), zeros) if np.any(zeros) else x
