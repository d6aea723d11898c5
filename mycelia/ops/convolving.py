"""How convolutions and their gradients are computed on arrays (batch, channels, *spatial).

On GPU and TPU a convolution is what XLA calls one. On CPU, measured: a plain XLA convolution is
best for large kernels over many channels; a 1x1 kernel is a matrix product; few channels are
fastest as a product with tiles or columns of shifted copies; groups are fastest apart; depthwise
ones as sums of shifted products (see `depthwise`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import prod

from mycelia.core.shape import Shape
from mycelia.ops import depthwise, tiling
from mycelia.ops.batch_last import prefers_batch_last
from mycelia.ops.contraction import contract, matrix_product, wide_dtype
from mycelia.ops.device import on_cpu
from mycelia.ops.engine import Array, jax, jnp, lax
from mycelia.ops.native import FORM as OWN_KERNEL
from mycelia.ops.shifting import shifted
from mycelia.ops.window import Window
from mycelia.ops.xla_convolution import xla_convolution

_FEW_INPUTS = 4
_SOME_INPUTS = 8
_MANY_COPIES = 1 << 23


class Way(Enum):
    """The ways a convolution can be computed, alone or for each group."""

    PLAIN = "a plain XLA convolution"
    POINTWISE = "a product over the channels"
    COLUMNS = "a product with columns of shifted copies"
    TILES = "a product with patches of tiles"
    SUMS_FIRST = "products of sums and differences"
    PHASES = "a convolution for each phase of the steps"
    SHIFTED = "sums of shifted products"
    OWN = OWN_KERNEL


class Found(Enum):
    """What is computed: a convolution, or one of its gradients."""

    OUTPUT = "output"
    INPUT_GRADIENT = "gradient of the input"
    WEIGHT_GRADIENT = "gradient of the weight"


def choose_way(shape: Shape, outputs: int, window: Window) -> Way:
    """The fastest way for an input of `shape` and a count of output channels; chosen here only.

    Processor time of a compiled training step of LeNet, batch 32 of 28x28: 2.4 ms with tiles, 3.8
    with columns, 5.3 plain. Where tiles do not fit, few inputs still gain from columns: the input
    gradient of 3 channels of 32x32 to 32, batch 64, takes 3.9 ms instead of 11.6.
    """
    if not on_cpu():
        return Way.PLAIN
    if window.is_a_point(shape[2:]):
        return Way.POINTWISE
    if _suits_tiles(shape, outputs, window):
        return Way.TILES
    columns = shape[0] * shape[1] * prod(window.kernel) * prod(window.output(shape[2:]))
    return Way.COLUMNS if shape[1] <= _FEW_INPUTS and columns <= _MANY_COPIES else Way.PLAIN


def way_of(shape: Shape, weight: Shape, window: Window, groups: int) -> Way:
    """How a convolution of an input of `shape` is computed."""
    if on_cpu() and groups == shape[1] > 1:
        return Way.SHIFTED
    part = (shape[0], shape[1] // groups, *shape[2:])
    return choose_way(part, weight[0] // groups, window)


def prefers_last(shape: Shape, weight: Shape, window: Window, groups: int) -> bool:
    """Whether a convolution is fastest with the channels last (see `convolving_last`)."""
    if not on_cpu() or len(shape) != 4:
        return False
    if groups > 1:
        return shape[1] // groups > 1 or groups == weight[0]
    return choose_way(shape, weight[0], window) in (Way.PLAIN, Way.POINTWISE)


def _suits_tiles(shape: Shape, outputs: int, window: Window) -> bool:
    return (
        max(window.strides) == max(window.dilation) == 1
        and shape[1] <= _SOME_INPUTS
        and prefers_batch_last((shape[0], outputs, *shape[2:]))
        and tiling.patches_size(shape, window) <= _MANY_COPIES
    )


def convolve(x: Array, weight: Array, window: Window, groups: int) -> Array:
    """The convolution of `x` with `weight` (out, in / groups, *kernel)."""
    wide = wide_dtype(x.dtype)
    x, weight, dtype = jnp.asarray(x, wide), jnp.asarray(weight, wide), x.dtype
    if groups == 1 or not on_cpu():
        return _whole(x, weight, window, groups).astype(dtype)
    if groups == x.shape[1]:
        return depthwise.convolve(x, weight, window).astype(dtype)
    parts = zip(jnp.split(x, groups, 1), jnp.split(weight, groups, 0), strict=True)
    return jnp.concatenate([_whole(a, b, window) for a, b in parts], 1).astype(dtype)


def input_gradient(dout: Array, weight: Array, window: Window, groups: int, shape: Shape) -> Array:
    """The gradient of an input of `shape`."""
    wide = wide_dtype(dout.dtype)
    dout, weight, dtype = jnp.asarray(dout, wide), jnp.asarray(weight, wide), dout.dtype
    if groups == 1 or not on_cpu():
        return _whole_input_gradient(dout, weight, window, shape, groups).astype(dtype)
    if groups == shape[1]:
        return depthwise.input_gradient(dout, weight, window, shape).astype(dtype)
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
        return depthwise.weight_gradient(dout, x, window, shape).astype(dtype)
    part = (shape[0] // groups, *shape[1:])
    parts = zip(jnp.split(dout, groups, 1), jnp.split(x, groups, 1), strict=True)
    pieces = [_whole_weight_gradient(d, a, window, part) for d, a in parts]
    return jnp.concatenate(pieces, 0).astype(dtype)


def _whole(x: Array, weight: Array, window: Window, groups: int = 1) -> Array:
    """A convolution by the way that fits its sizes."""
    way = choose_way(x.shape, weight.shape[0], window)
    if way is Way.PLAIN:
        return _plain(x, weight, window, groups)
    return _FORWARD[way](x, weight, window)


def _whole_input_gradient(
    dout: Array, weight: Array, window: Window, shape: Shape, groups: int = 1
) -> Array:
    if choose_way(shape, weight.shape[0], window) is Way.TILES:
        return tiling.input_gradient(dout, weight, window, shape)
    spec = jax.ShapeDtypeStruct(shape, dout.dtype)
    return jax.linear_transpose(lambda x: _whole(x, weight, window, groups), spec)(dout)[0]


def _whole_weight_gradient(
    dout: Array, x: Array, window: Window, shape: Shape, groups: int = 1
) -> Array:
    way = choose_way(x.shape, shape[0], window)
    if way is Way.TILES:
        return tiling.weight_gradient(dout, x, window, shape)
    spec = jax.ShapeDtypeStruct(shape, dout.dtype)
    if way is Way.POINTWISE:
        return jax.linear_transpose(lambda w: _pointwise(x, w, window), spec)(dout)[0]
    return jax.linear_transpose(lambda w: _plain(x, w, window, groups), spec)(dout)[0]


def _plain(x: Array, weight: Array, window: Window, groups: int = 1) -> Array:
    pads, axes = window.padding(x.shape[2:]), tuple(range(x.ndim))
    numbers = lax.ConvDimensionNumbers(axes, axes, axes)
    return xla_convolution(x, weight, window.strides, pads, window.dilation, numbers, groups)


def _pointwise(x: Array, weight: Array, window: Window) -> Array:
    """A kernel of one point: a product over the channels of the points that are visited."""
    step = (slice(None), slice(None), *(slice(None, None, s) for s in window.strides))
    visited = x[step] if max(window.strides) > 1 else x
    batch, channels, *sizes = visited.shape
    flat = visited.reshape(batch, channels, prod(sizes))
    product = contract(weight.reshape(weight.shape[:2]), flat, (((1,), (1,)), ((), ())))
    return jnp.moveaxis(product, 0, 1).reshape(batch, weight.shape[0], *sizes)


def _by_columns(x: Array, weight: Array, window: Window) -> Array:
    """One product of the weight with all shifted copies of the input laid side by side."""
    batch, channels = x.shape[:2]
    sizes = window.output(x.shape[2:])
    by_channel = lax.optimization_barrier(jnp.swapaxes(x, 0, 1))
    copies = jnp.stack(shifted(by_channel, window), 1)
    columns = lax.optimization_barrier(
        copies.reshape(channels * prod(window.kernel), batch * prod(sizes))
    )
    product = matrix_product(weight.reshape(weight.shape[0], -1), columns)
    return jnp.swapaxes(product.reshape(weight.shape[0], batch, *sizes), 0, 1)


_FORWARD: dict[Way, Callable[[Array, Array, Window], Array]] = {
    Way.POINTWISE: _pointwise,
    Way.COLUMNS: _by_columns,
    Way.TILES: tiling.convolve,
}
