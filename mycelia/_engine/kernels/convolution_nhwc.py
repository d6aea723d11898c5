"""Convolutions and their gradients in channels-last layout: (batch, *spatial, channels).

Weights are (out, *kernel, in / groups). This layout is the fastest for many channels on CPU:
XLA's own library wants the channels innermost, a 1x1 kernel is one matrix product without any
copy, and loops over the channels use vector instructions. A 3x3 kernel over many channels needs
fewer multiplications than the direct algorithm (see `winograd`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.kernels import (
    convolution_native,
    native,
    strided_convolution_gradient,
    winograd,
)
from mycelia._engine.kernels.convolution import ConvolutionAlgorithm, ConvolutionResult
from mycelia._engine.kernels.dot import contract, wide_dtype
from mycelia._engine.kernels.shifted_windows import dilated, offsets, shifted, taken_back
from mycelia._engine.kernels.sums import row_sums
from mycelia._engine.kernels.xla_convolution import xla_convolution
from mycelia._engine.operators.device import on_cpu
from mycelia._engine.operators.window import Window

_LARGE = 1 << 22  # elements that do not fit in the caches


def way_of(
    shape: Shape, weight: Shape, window: Window, groups: int, result: ConvolutionResult, dtype: Any
) -> ConvolutionAlgorithm:
    """The algorithm for a convolution, or a gradient of it, for an input of `shape`."""
    if _is_depthwise(shape, weight, groups):
        return ConvolutionAlgorithm.SHIFTED
    part = (*shape[:-1], shape[-1] // groups)
    whole = weight[0] // groups, *weight[1:]
    return _choose(part, whole, window, result, wide_dtype(dtype))


def _choose(
    shape: Shape, weight: Shape, window: Window, result: ConvolutionResult, dtype: Any
) -> ConvolutionAlgorithm:
    if not on_cpu():
        return ConvolutionAlgorithm.PLAIN
    of_weight = result is ConvolutionResult.WEIGHT_GRADIENT
    if window.is_a_point(shape[1:-1]):
        use_native = of_weight and convolution_native.is_faster_for_points(shape, window, dtype)
        return ConvolutionAlgorithm.OWN if use_native else ConvolutionAlgorithm.POINTWISE
    if winograd.is_faster(shape, weight, window, of_weight=of_weight):
        return ConvolutionAlgorithm.SUMS_FIRST
    if of_weight and convolution_native.is_faster(shape, weight, window, dtype):
        return ConvolutionAlgorithm.OWN
    in_phases = (
        result is ConvolutionResult.INPUT_GRADIENT
        and strided_convolution_gradient.is_faster(window)
    )
    return ConvolutionAlgorithm.PHASES if in_phases else ConvolutionAlgorithm.PLAIN


def convolve(x: Array, weight: Array, window: Window, groups: int) -> Array:
    """The convolution of `x` with `weight`."""
    wide, dtype = wide_dtype(x.dtype), x.dtype
    x, weight = jnp.asarray(x, wide), jnp.asarray(weight, wide)
    if _is_depthwise(x.shape, weight.shape, groups):
        return _depthwise(x, weight, window).astype(dtype)
    if groups == 1 or not on_cpu():
        return _whole(x, weight, window, groups).astype(dtype)
    parts = zip(jnp.split(x, groups, -1), jnp.split(weight, groups, 0), strict=True)
    return jnp.concatenate([_whole(a, b, window) for a, b in parts], -1).astype(dtype)


def input_gradient(dout: Array, weight: Array, window: Window, groups: int, shape: Shape) -> Array:
    """The gradient of an input of `shape`."""
    wide, dtype = wide_dtype(dout.dtype), dout.dtype
    dout, weight = jnp.asarray(dout, wide), jnp.asarray(weight, wide)
    if _is_depthwise(shape, weight.shape, groups):
        return _depthwise_input_gradient(dout, weight, window, shape).astype(dtype)
    if groups == 1 or not on_cpu():
        return _whole_input_gradient(dout, weight, window, shape, groups).astype(dtype)
    part = (*shape[:-1], shape[-1] // groups)
    parts = zip(jnp.split(dout, groups, -1), jnp.split(weight, groups, 0), strict=True)
    pieces = [_whole_input_gradient(d, w, window, part) for d, w in parts]
    return jnp.concatenate(pieces, -1).astype(dtype)


def weight_gradient(dout: Array, x: Array, window: Window, groups: int, shape: Shape) -> Array:
    """The gradient of a weight of `shape`."""
    wide, dtype = wide_dtype(dout.dtype), dout.dtype
    dout, x = jnp.asarray(dout, wide), jnp.asarray(x, wide)
    if _is_depthwise(x.shape, shape, groups):
        return _depthwise_weight_gradient(dout, x, window, shape).astype(dtype)
    if groups == 1 or not on_cpu():
        return _whole_weight_gradient(dout, x, window, shape, groups).astype(dtype)
    part = (shape[0] // groups, *shape[1:])
    parts = zip(jnp.split(dout, groups, -1), jnp.split(x, groups, -1), strict=True)
    pieces = [_whole_weight_gradient(d, a, window, part) for d, a in parts]
    return jnp.concatenate(pieces, 0).astype(dtype)


# ---- dense: all input channels with all output channels ------------------------------------------


def _whole(x: Array, weight: Array, window: Window, groups: int = 1) -> Array:
    algorithm = _choose(x.shape, weight.shape, window, ConvolutionResult.OUTPUT, x.dtype)
    if algorithm is ConvolutionAlgorithm.SUMS_FIRST:
        return winograd.convolve(x, weight, window.padding(x.shape[1:-1]))
    if algorithm is ConvolutionAlgorithm.PLAIN:
        return _plain(x, weight, window, groups)
    visited = _visited(x, window)
    product = _dot(_rows(visited), _matrix(weight), 1, 1)
    return product.reshape(*visited.shape[:-1], weight.shape[0])


def _whole_input_gradient(
    dout: Array, weight: Array, window: Window, shape: Shape, groups: int = 1
) -> Array:
    algorithm = _choose(shape, weight.shape, window, ConvolutionResult.INPUT_GRADIENT, dout.dtype)
    if algorithm is ConvolutionAlgorithm.SUMS_FIRST:
        return winograd.input_gradient(dout, weight, window.padding(shape[1:-1]))
    if algorithm is ConvolutionAlgorithm.PHASES:
        return strided_convolution_gradient.input_gradient(dout, weight, window, shape)
    if algorithm is ConvolutionAlgorithm.PLAIN:
        spec = jax.ShapeDtypeStruct(shape, dout.dtype)
        return jax.linear_transpose(lambda x: _plain(x, weight, window, groups), spec)(dout)[0]
    product = _dot(_rows(dout), _matrix(weight), 1, 0).reshape(*dout.shape[:-1], shape[-1])
    if max(window.strides) == 1:
        return product
    gaps = [
        (0, size - (count - 1) * step - 1, step - 1)
        for size, count, step in zip(shape[1:-1], dout.shape[1:-1], window.strides, strict=True)
    ]
    return lax.pad(product, np.zeros((), product.dtype), [(0, 0, 0), *gaps, (0, 0, 0)])


def _whole_weight_gradient(
    dout: Array, x: Array, window: Window, shape: Shape, groups: int = 1
) -> Array:
    algorithm = _choose(x.shape, shape, window, ConvolutionResult.WEIGHT_GRADIENT, x.dtype)
    if algorithm is ConvolutionAlgorithm.SUMS_FIRST:
        return winograd.weight_gradient(dout, x, window.padding(x.shape[1:-1]))
    plain = partial(_plain_weight_gradient, window=window, shape=shape, groups=groups)
    if algorithm is ConvolutionAlgorithm.PLAIN:
        return plain(dout, x)
    if window.is_a_point(x.shape[1:-1]):
        return _points_gradient(dout, x, window, algorithm).reshape(shape)
    native_gradient = partial(convolution_native.weight_gradient, window=window, shape=shape)
    return native.differentiated_as(plain, native_gradient)(dout, x)


def _points_gradient(
    dout: Array, x: Array, window: Window, algorithm: ConvolutionAlgorithm
) -> Array:
    visited = _visited(x, window)
    if max(window.strides) > 1:
        visited = lax.optimization_barrier(visited)
    product: Callable[..., Array] = partial(_dot, axis_a=0, axis_b=0)
    if algorithm is ConvolutionAlgorithm.OWN:
        product = native.differentiated_as(product, convolution_native.points_gradient)
    return product(_rows(dout), _rows(visited))


def _plain_weight_gradient(
    dout: Array, x: Array, window: Window, shape: Shape, groups: int
) -> Array:
    spec = jax.ShapeDtypeStruct(shape, dout.dtype)
    return jax.linear_transpose(lambda w: _plain(x, w, window, groups), spec)(dout)[0]


def _plain(x: Array, weight: Array, window: Window, groups: int = 1) -> Array:
    last, axes = x.ndim - 1, tuple(range(1, x.ndim - 1))
    numbers = lax.ConvDimensionNumbers(*((0, last, *axes),) * 3)
    pads = window.padding(x.shape[1:-1])
    return xla_convolution(x, weight, window.strides, pads, window.dilation, numbers, groups)


def _visited(x: Array, window: Window) -> Array:
    """The points of the input that the strides of the window visit."""
    if max(window.strides) == 1:
        return x
    return lax.slice(x, (0,) * x.ndim, x.shape, (1, *window.strides, 1))


def _rows(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1])


def _matrix(weight: Array) -> Array:
    return weight.reshape(weight.shape[0], weight.shape[-1])


def _dot(a: Array, b: Array, axis_a: int, axis_b: int) -> Array:
    return contract(a, b, (((axis_a,), (axis_b,)), ((), ())))


# ---- depthwise: one kernel per channel, as sums of shifted products ------------------------------


def _is_depthwise(shape: Shape, weight: Shape, groups: int) -> bool:
    return on_cpu() and groups == shape[-1] == weight[0] > 1


def _depthwise(x: Array, weight: Array, window: Window) -> Array:
    copies = shifted(x, window.over_channels())
    return reduce(jnp.add, map(jnp.multiply, copies, _points(weight)))


def _depthwise_input_gradient(dout: Array, weight: Array, window: Window, shape: Shape) -> Array:
    if strided_convolution_gradient.is_faster(window):
        return strided_convolution_gradient.depthwise_input_gradient(dout, weight, window, shape)
    over, sizes = window.over_channels(), shape[1:]
    wide = dilated(dout, over, sizes)
    copies = [taken_back(wide, over, offset, sizes) for offset in offsets(over)]
    return reduce(jnp.add, map(jnp.multiply, copies, _points(weight)))


def _depthwise_weight_gradient(dout: Array, x: Array, window: Window, shape: Shape) -> Array:
    terms = [copy * dout for copy in shifted(x, window.over_channels())]
    count = len(terms) if x.size >= _LARGE else window.kernel[-1]
    sums = [row_sums(terms[i : i + count]) for i in range(0, len(terms), count)]
    return jnp.stack([s for some in sums for s in some], axis=1).reshape(shape)


def _points(weight: Array) -> list[Array]:
    """For each point of the kernel, its weights for all channels."""
    points = weight.reshape(weight.shape[0], -1)
    return [points[:, i] for i in range(points.shape[1])]
