"""How convolutions and their gradients are computed on arrays (batch, channels, *spatial).

Measured on CPU: a plain XLA convolution is best for large kernels over many channels; a 1x1 kernel
is a matrix product; few input channels are fastest as a product with columns of shifted copies;
groups are fastest apart; depthwise ones as sums of shifted products (see `depthwise`).
"""

from __future__ import annotations

from math import prod

import numpy as np

from mycelia.core.shape import Shape
from mycelia.ops import depthwise
from mycelia.ops.contraction import wide_dtype
from mycelia.ops.engine import Array, jax, jnp, lax
from mycelia.ops.shifting import shifted
from mycelia.ops.window import Window

_FEW_CHANNELS = 4
_MANY_COLUMNS = 1 << 23


def convolve(x: Array, weight: Array, window: Window, groups: int) -> Array:
    """The convolution of `x` with `weight` (out, in / groups, *kernel)."""
    wide = wide_dtype(x.dtype)
    x, weight, dtype = jnp.asarray(x, wide), jnp.asarray(weight, wide), x.dtype
    if groups == 1:
        return _whole(x, weight, window).astype(dtype)
    if groups == x.shape[1]:
        return depthwise.convolve(x, weight, window).astype(dtype)
    parts = zip(jnp.split(x, groups, 1), jnp.split(weight, groups, 0), strict=True)
    return jnp.concatenate([_whole(a, b, window) for a, b in parts], 1).astype(dtype)


def input_gradient(dout: Array, weight: Array, window: Window, groups: int, shape: Shape) -> Array:
    """The gradient of an input of `shape`."""
    wide = wide_dtype(dout.dtype)
    dout, weight, dtype = jnp.asarray(dout, wide), jnp.asarray(weight, wide), dout.dtype
    if groups == shape[1] and groups > 1:
        return depthwise.input_gradient(dout, weight, window, shape).astype(dtype)
    part = (shape[0], shape[1] // groups, *shape[2:])
    parts = zip(jnp.split(dout, groups, 1), jnp.split(weight, groups, 0), strict=True)
    pieces = [_transposed_input(d, w, window, part) for d, w in parts]
    return (pieces[0] if groups == 1 else jnp.concatenate(pieces, 1)).astype(dtype)


def weight_gradient(dout: Array, x: Array, window: Window, groups: int, shape: Shape) -> Array:
    """The gradient of a weight of `shape`."""
    wide = wide_dtype(dout.dtype)
    dout, x, dtype = jnp.asarray(dout, wide), jnp.asarray(x, wide), dout.dtype
    if groups == x.shape[1] and groups > 1:
        return depthwise.weight_gradient(dout, x, window, shape).astype(dtype)
    part = (shape[0] // groups, *shape[1:])
    parts = zip(jnp.split(dout, groups, 1), jnp.split(x, groups, 1), strict=True)
    pieces = [_transposed_weight(d, a, window, part) for d, a in parts]
    return (pieces[0] if groups == 1 else jnp.concatenate(pieces, 0)).astype(dtype)


def _whole(x: Array, weight: Array, window: Window) -> Array:
    """A convolution without groups, by the way that fits its sizes."""
    if _is_pointwise(x, window):
        return _pointwise(x, weight, window)
    if x.shape[1] <= _FEW_CHANNELS and _columns_size(x, window) <= _MANY_COLUMNS:
        return _by_columns(x, weight, window)
    return _plain(x, weight, window)


def _transposed_input(dout: Array, weight: Array, window: Window, shape: Shape) -> Array:
    spec = jax.ShapeDtypeStruct(shape, dout.dtype)
    return jax.linear_transpose(lambda x: _whole(x, weight, window), spec)(dout)[0]


def _transposed_weight(dout: Array, x: Array, window: Window, shape: Shape) -> Array:
    way = _pointwise if _is_pointwise(x, window) else _plain
    spec = jax.ShapeDtypeStruct(shape, dout.dtype)
    return jax.linear_transpose(lambda w: way(x, w, window), spec)(dout)[0]


def _plain(x: Array, weight: Array, window: Window) -> Array:
    return lax.conv_general_dilated(
        x,
        weight,
        window.strides,
        window.padding(x.shape[2:]),
        rhs_dilation=window.dilation,
        dimension_numbers=_dimension_numbers(window.rank),
    )


def _dimension_numbers(rank: int) -> lax.ConvDimensionNumbers:
    axes = tuple(range(rank + 2))
    return lax.ConvDimensionNumbers(axes, axes, axes)


def _is_pointwise(x: Array, window: Window) -> bool:
    return prod(window.kernel) == 1 and not np.any(window.padding(x.shape[2:]))


def _pointwise(x: Array, weight: Array, window: Window) -> Array:
    """A kernel of one point: a product over the channels of the points that are visited."""
    step = (slice(None), slice(None), *(slice(None, None, s) for s in window.strides))
    visited = x[step] if max(window.strides) > 1 else x
    batch, channels, *sizes = visited.shape
    flat = visited.reshape(batch, channels, prod(sizes))
    product = lax.dot_general(weight.reshape(weight.shape[:2]), flat, (((1,), (1,)), ((), ())))
    return jnp.moveaxis(product, 0, 1).reshape(batch, weight.shape[0], *sizes)


def _columns_size(x: Array, window: Window) -> int:
    return x.shape[0] * x.shape[1] * prod(window.kernel) * prod(window.output(x.shape[2:]))


def _by_columns(x: Array, weight: Array, window: Window) -> Array:
    """One product of the weight with all shifted copies of the input laid side by side."""
    batch, channels = x.shape[:2]
    sizes = window.output(x.shape[2:])
    by_channel = lax.optimization_barrier(jnp.swapaxes(x, 0, 1))
    copies = jnp.stack(shifted(by_channel, window), 1)
    columns = lax.optimization_barrier(
        copies.reshape(channels * prod(window.kernel), batch * prod(sizes))
    )
    product = weight.reshape(weight.shape[0], -1) @ columns
    return jnp.swapaxes(product.reshape(weight.shape[0], batch, *sizes), 0, 1)
