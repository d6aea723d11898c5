"""Algorithms for convolutions and their gradients on arrays (batch, channels, *spatial).

GPU and TPU use XLA's convolution. Measured on CPU: XLA's convolution is best for large kernels
over many channels; a 1x1 kernel is a matrix product; with few channels, products with tiles or
columns of shifted copies (im2col) are fastest; groups are fastest one by one; depthwise
convolutions as sums of shifted products (see `depthwise_convolution`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import prod

from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.kernels import depthwise_convolution, tiled_convolution
from mycelia._engine.kernels.batch_last import prefers_batch_last
from mycelia._engine.kernels.dot import contract, matrix_product, wide_dtype
from mycelia._engine.kernels.native import FORM as OWN_KERNEL
from mycelia._engine.kernels.shifted_windows import shifted
from mycelia._engine.kernels.xla_convolution import xla_convolution
from mycelia._engine.operators.device import on_cpu
from mycelia._engine.operators.window import Window

_FEW_INPUTS = 4
_SOME_INPUTS = 8
_MANY_COPIES = 1 << 23


class ConvolutionAlgorithm(Enum):
    """The algorithms for a convolution, as a whole or for each group."""

    PLAIN = "a plain XLA convolution"
    POINTWISE = "a matrix product over the channels"
    COLUMNS = "a product with columns of shifted copies"
    TILES = "a product with patches of tiles"
    SUMS_FIRST = "Winograd's algorithm"
    PHASES = "one convolution per phase of the strides"
    SHIFTED = "sums of shifted products"
    OWN = OWN_KERNEL


class ConvolutionResult(Enum):
    """The value to compute: a convolution, or one of its gradients."""

    OUTPUT = "output"
    INPUT_GRADIENT = "gradient of the input"
    WEIGHT_GRADIENT = "gradient of the weight"


def choose_algorithm(shape: Shape, outputs: int, window: Window) -> ConvolutionAlgorithm:
    """The fastest algorithm for an input of `shape` and a number of output channels.

    Processor time of a compiled training step of LeNet, batch 32 of 28x28: 2.4 ms with tiles, 3.8
    with columns, 5.3 plain. Where tiles do not fit, few inputs still gain from columns: the input
    gradient of 3 channels of 32x32 to 32, batch 64, takes 3.9 ms instead of 11.6.
    """
    if not on_cpu():
        return ConvolutionAlgorithm.PLAIN
    if window.is_a_point(shape[2:]):
        return ConvolutionAlgorithm.POINTWISE
    if _suits_tiles(shape, outputs, window):
        return ConvolutionAlgorithm.TILES
    columns = shape[0] * shape[1] * prod(window.kernel) * prod(window.output(shape[2:]))
    return (
        ConvolutionAlgorithm.COLUMNS
        if shape[1] <= _FEW_INPUTS and columns <= _MANY_COPIES
        else ConvolutionAlgorithm.PLAIN
    )


def algorithm_of(shape: Shape, weight: Shape, window: Window, groups: int) -> ConvolutionAlgorithm:
    """The algorithm for a convolution of an input of `shape`."""
    if on_cpu() and groups == shape[1] > 1:
        return ConvolutionAlgorithm.SHIFTED
    part = (shape[0], shape[1] // groups, *shape[2:])
    return choose_algorithm(part, weight[0] // groups, window)


def prefers_last(shape: Shape, weight: Shape, window: Window, groups: int) -> bool:
    """Whether a convolution is fastest in channels-last layout (see `convolution_nhwc`)."""
    if not on_cpu() or len(shape) != 4:
        return False
    if groups > 1:
        return shape[1] // groups > 1 or groups == weight[0]
    return choose_algorithm(shape, weight[0], window) in (
        ConvolutionAlgorithm.PLAIN,
        ConvolutionAlgorithm.POINTWISE,
    )


def _suits_tiles(shape: Shape, outputs: int, window: Window) -> bool:
    return (
        max(window.strides) == max(window.dilation) == 1
        and shape[1] <= _SOME_INPUTS
        and prefers_batch_last((shape[0], outputs, *shape[2:]))
        and tiled_convolution.patches_size(shape, window) <= _MANY_COPIES
    )


def convolve(x: Array, weight: Array, window: Window, groups: int) -> Array:
    """The convolution of `x` with `weight` (out, in / groups, *kernel)."""
    wide = wide_dtype(x.dtype)
    x, weight, dtype = jnp.asarray(x, wide), jnp.asarray(weight, wide), x.dtype
    if groups == 1 or not on_cpu():
        return _whole(x, weight, window, groups).astype(dtype)
    if groups == x.shape[1]:
        return depthwise_convolution.convolve(x, weight, window).astype(dtype)
    parts = zip(jnp.split(x, groups, 1), jnp.split(weight, groups, 0), strict=True)
    return jnp.concatenate([_whole(a, b, window) for a, b in parts], 1).astype(dtype)


def input_gradient(dout: Array, weight: Array, window: Window, groups: int, shape: Shape) -> Array:
    """The gradient of an input of `shape`."""
    wide = wide_dtype(dout.dtype)
    dout, weight, dtype = jnp.asarray(dout, wide), jnp.asarray(weight, wide), dout.dtype
    if groups == 1 or not on_cpu():
        return _whole_input_gradient(dout, weight, window, shape, groups).astype(dtype)
    if groups == shape[1]:
        return depthwise_convolution.input_gradient(dout, weight, window, shape).astype(dtype)
    part = (shape[0], shape[1] // groups, *shape[2:])
    parts = zip(jnp.split(dout, groups, 1), jnp.split(weight, groups, 0), strict=True)
    pieces = [_whole_input_gradient(d, w, window, part) for d, w in parts]
    return jnp.concatenate(pieces, 1).astype(dtype)


def weight_gradient(dout: Array, x: Array, window: Window, groups: int, shape: Shape) -> Array:
    """The gradient of a weight of `shape`."""
    wide = wide_dtype(dout.dtype)
    dout, x, dtype = jnp.asarray(dout, wide), jnp.asarray(x, wide), dout.dtype
    if groups == 1 or not on_cpu():
        return _whole_weight_gradient(dout, x, window, shape, groups).astype(dtype)
    if groups == x.shape[1]:
        return depthwise_convolution.weight_gradient(dout, x, window, shape).astype(dtype)
    part = (shape[0] // groups, *shape[1:])
    parts = zip(jnp.split(dout, groups, 1), jnp.split(x, groups, 1), strict=True)
    pieces = [_whole_weight_gradient(d, a, window, part) for d, a in parts]
    return jnp.concatenate(pieces, 0).astype(dtype)


def _whole(x: Array, weight: Array, window: Window, groups: int = 1) -> Array:
    """A convolution by the algorithm that suits its sizes."""
    algorithm = choose_algorithm(x.shape, weight.shape[0], window)
    if algorithm is ConvolutionAlgorithm.PLAIN:
        return _plain(x, weight, window, groups)
    return _FORWARD[algorithm](x, weight, window)


def _whole_input_gradient(
    dout: Array, weight: Array, window: Window, shape: Shape, groups: int = 1
) -> Array:
    if choose_algorithm(shape, weight.shape[0], window) is ConvolutionAlgorithm.TILES:
        return tiled_convolution.input_gradient(dout, weight, window, shape)
    spec = jax.ShapeDtypeStruct(shape, dout.dtype)
    return jax.linear_transpose(lambda x: _whole(x, weight, window, groups), spec)(dout)[0]


def _whole_weight_gradient(
    dout: Array, x: Array, window: Window, shape: Shape, groups: int = 1
) -> Array:
    algorithm = choose_algorithm(x.shape, shape[0], window)
    if algorithm is ConvolutionAlgorithm.TILES:
        return tiled_convolution.weight_gradient(dout, x, window, shape)
    spec = jax.ShapeDtypeStruct(shape, dout.dtype)
    if algorithm is ConvolutionAlgorithm.POINTWISE:
        return jax.linear_transpose(lambda w: _pointwise(x, w, window), spec)(dout)[0]
    return jax.linear_transpose(lambda w: _plain(x, w, window, groups), spec)(dout)[0]


def _plain(x: Array, weight: Array, window: Window, groups: int = 1) -> Array:
    pads, axes = window.padding(x.shape[2:]), tuple(range(x.ndim))
    numbers = lax.ConvDimensionNumbers(axes, axes, axes)
    return xla_convolution(x, weight, window.strides, pads, window.dilation, numbers, groups)


def _pointwise(x: Array, weight: Array, window: Window) -> Array:
    """A 1x1 kernel: a product over the channels of the points that the strides visit."""
    step = (slice(None), slice(None), *(slice(None, None, s) for s in window.strides))
    visited = x[step] if max(window.strides) > 1 else x
    batch, channels, *sizes = visited.shape
    flat = visited.reshape(batch, channels, prod(sizes))
    product = contract(weight.reshape(weight.shape[:2]), flat, (((1,), (1,)), ((), ())))
    return jnp.moveaxis(product, 0, 1).reshape(batch, weight.shape[0], *sizes)


def _by_columns(x: Array, weight: Array, window: Window) -> Array:
    """One product of the weight with all shifted copies of the input as columns (im2col)."""
    batch, channels = x.shape[:2]
    sizes = window.output(x.shape[2:])
    by_channel = lax.optimization_barrier(jnp.swapaxes(x, 0, 1))
    copies = jnp.stack(shifted(by_channel, window), 1)
    columns = lax.optimization_barrier(
        copies.reshape(channels * prod(window.kernel), batch * prod(sizes))
    )
    product = matrix_product(weight.reshape(weight.shape[0], -1), columns)
    return jnp.swapaxes(product.reshape(weight.shape[0], batch, *sizes), 0, 1)


_FORWARD: dict[ConvolutionAlgorithm, Callable[[Array, Array, Window], Array]] = {
    ConvolutionAlgorithm.POINTWISE: _pointwise,
    ConvolutionAlgorithm.COLUMNS: _by_columns,
    ConvolutionAlgorithm.TILES: tiled_convolution.convolve,
}
