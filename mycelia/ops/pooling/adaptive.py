"""Adaptive average and max pooling to a given output size."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_positive_int, is_int
from mycelia._engine.core.dtype import int32, int64
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.dot import wide_dtype
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.window import read_window
from mycelia.ops.argument_types import (
    INTEGERS,
    NUMBERS,
    check_axes,
    check_kinds,
    check_readable,
    check_same_shape,
    check_shape,
)
from mycelia.ops.pooling.window_pooling import WindowAverage, WindowMaximum

Sizes = tuple[int | None, ...]


class AdaptiveAvgPool2D(Op):
    """Adaptive average pooling of (N, C, H, W) or (C, H, W); None keeps a size."""

    output_size: Any
    rank = 2
    examples = (
        case("f32[1,2,5,7]", output_size=(3, 4)),
        case("f32[2,4,6]", output_size=2),
        case("f32[1,2,3,3]", output_size=(None, 1)),
        case("f32[1,1,2,3]", output_size=5),
        case("f16[1,2,4,5]", output_size=2, differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        return {"output_size": _checked_sizes(self.name, self.output_size, self.rank)}

    def infer(self, x: TensorType) -> TensorType:
        _check_input(self.name, x, self.rank)
        return x.with_shape(_pooled(x.shape, self.output_size))

    def lower(self, x: Array) -> Array:
        total = jnp.asarray(x, wide_dtype(x.dtype))
        wanted = _pooled(x.shape, self.output_size)
        for axis in range(x.ndim - self.rank, x.ndim):
            total = _averaged(total, axis, wanted[axis])
        return total.astype(x.dtype)


class AdaptiveAvgPool3D(AdaptiveAvgPool2D):
    """Adaptive average pooling of (N, C, D, H, W) or (C, D, H, W); None keeps a size."""

    rank = 3
    examples = (
        case("f32[1,2,4,5,3]", output_size=(2, 3, 3)),
        case("f32[2,4,3,2]", output_size=2),
        case("f32[1,1,3,3,2]", output_size=(1, None, 2)),
        case("f32[0,1,3,3,2]", output_size=1),
        case("f16[1,1,4,5,2]", output_size=2, differentiate=False),
    )


class AdaptiveMaxPool2D(Op):
    """Adaptive max pooling over the last two axes, and the flat indices of the maxima."""

    output_size: Any
    examples = (
        case("f32[1,2,5,7]:distinct", output_size=(3, 4)),
        case("f32[2,4,6]:distinct", output_size=2),
        case("f32[1,2,3,3]:distinct", output_size=(None, 1)),
    )

    def normalize(self) -> dict[str, Any]:
        return {"output_size": _checked_sizes(self.name, self.output_size, 2)}

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        _check_input(self.name, x, 2)
        values = x.with_shape(_pooled(x.shape, self.output_size))
        check_readable(self.name, x, values.shape)
        return values, values.with_dtype(int64)

    def lower(self, x: Array) -> tuple[Array, ...]:
        return _maximum_and_index(x, _pooled(x.shape, self.output_size), 2, int64.numpy)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (AdaptiveMaxPoolGrad.of(2)(dout[0], out[1], x.shape),)


class AdaptiveMaxPool3D(Op):
    """Adaptive max pooling over the last three axes, and the flat indices of the maxima."""

    static = ("output_size",)
    examples = (
        case("f32[1,2,4,5,3]:distinct", (2, 3, 3)),
        case("f32[2,4,3,2]:distinct", (2, 2, 1)),
    )

    def infer(self, x: TensorType, output_size: Any) -> tuple[TensorType, ...]:
        _check_input(self.name, x, 3)
        sizes = _checked_sizes(self.name, output_size, 3)
        values = x.with_shape(_pooled(x.shape, sizes))
        check_readable(self.name, x, values.shape)
        return values, values.with_dtype(int32)

    def lower(self, x: Array, output_size: Any) -> tuple[Array, ...]:
        sizes = _checked_sizes(self.name, output_size, 3)
        return _maximum_and_index(x, _pooled(x.shape, sizes), 3, int32.numpy)

    def grad(self, x: Any, output_size: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (AdaptiveMaxPoolGrad.of(3)(dout[0], out[1], x.shape),)


class AdaptiveMaxPoolGrad(Op):
    """Gradient of adaptive max pooling: adds the values at flat indices of the last `rank` axes."""

    rank: int
    static = ("shape",)
    examples = (
        case("f32[2,2,2]", "i64[2,2,2]:<12", (2, 3, 4), rank=2),
        case("f32[1,1,2,1,2]", "i32[1,1,2,1,2]:<8", (1, 1, 2, 2, 2), rank=3),
    )

    def infer(self, dout: TensorType, places: TensorType, shape: Shape) -> TensorType:
        check_same_shape(self.name, dout=dout, places=places)
        check_axes(self.name, "dout", dout, least=self.rank)
        lead = len(shape) - self.rank
        check_shape(self.name, "dout", dout, (*shape[:lead], *dout.shape[-self.rank :]))
        check_kinds(self.name, INTEGERS, places=places)
        check_kinds(self.name, NUMBERS, dout=dout)
        return dout.with_shape(shape)

    def lower(self, dout: Array, places: Array, shape: Shape) -> Array:
        lead = len(shape) - self.rank
        rows, count = prod(shape[:lead]), prod(dout.shape[lead:])
        flat = jnp.zeros((rows, prod(shape[lead:])), dout.dtype)
        where = (jnp.arange(rows)[:, None], jnp.reshape(places, (rows, count)))
        return flat.at[where].add(jnp.reshape(dout, (rows, count))).reshape(shape)


def _averaged(x: Array, axis: int, count: int) -> Array:
    """Averages of `count` windows along one axis."""
    size = x.shape[axis]
    if count == size:
        return x
    if count and size % count == 0:
        parts = x.reshape(*x.shape[:axis], count, size // count, *x.shape[axis + 1 :])
        return jnp.mean(parts, axis=axis + 1, dtype=x.dtype)
    starts, stops = _windows(size, count)
    places = np.arange(size)
    inside = (places >= starts[:, None]) & (places < stops[:, None])
    shares = (inside / (stops - starts)[:, None]).astype(x.dtype)
    return jnp.moveaxis(jnp.tensordot(x, shares, ((axis,), (1,))), -1, axis)


def _maximum_and_index(x: Array, shape: Shape, rank: int, dtype: Any) -> tuple[Array, Array]:
    """Maxima and their flat indices, reduced axis by axis from the last."""
    lead = len(shape) - rank
    sizes = x.shape[lead:]
    if not prod(shape):
        return jnp.zeros(shape, x.dtype), jnp.zeros(shape, dtype)
    places = jnp.broadcast_to(jnp.arange(prod(sizes), dtype=dtype).reshape(sizes), x.shape)
    values = jnp.asarray(x)
    for axis in reversed(range(lead, len(shape))):
        values, places = _largest_along(values, places, axis, shape[axis])
    return values, places


def _largest_along(values: Array, places: Array, axis: int, count: int) -> tuple[Array, Array]:
    starts, stops = _windows(values.shape[axis], count)
    best, where = (jnp.take(a, starts, axis=axis) for a in (values, places))
    for step in range(1, int(np.max(stops - starts, initial=0))):
        # Past its end a window repeats its last element, which never exceeds the maximum.
        index = np.minimum(starts + step, stops - 1)
        value, place = (jnp.take(a, index, axis=axis) for a in (values, places))
        larger = value > best
        best, where = jnp.where(larger, value, best), jnp.where(larger, place, where)
    return best, where


def _windows(size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Start and end of each of `count` windows over `size` elements."""
    steps = np.arange(count)
    return steps * size // max(count, 1), -(-(steps + 1) * size // max(count, 1))


def _pooled(shape: Shape, sizes: Sizes) -> Shape:
    lead = len(shape) - len(sizes)
    kept = zip(sizes, shape[lead:], strict=True)
    return (*shape[:lead], *(old if new is None else new for new, old in kept))


def _checked_sizes(owner: str, value: Any, rank: int) -> Sizes:
    if not is_int(value) and not isinstance(value, (tuple, list)):
        raise wrong_type(owner, "output_size", value, f"int or tuple of {rank} ints")
    sizes = (value,) * rank if is_int(value) else tuple(value)
    if len(sizes) != rank or any(n is not None and (not is_int(n) or n < 0) for n in sizes):
        wanted = f"an int or a tuple of {rank} ints, none negative; None keeps a size"
        raise wrong_value(owner, "output_size", value, wanted)
    return sizes


def _check_input(owner: str, x: TensorType, rank: int) -> None:
    if not x.dtype.is_float:
        raise unsupported_dtype(owner, x, "a float tensor")
    if x.ndim not in (rank + 1, rank + 2):
        raise problem(
            ValueError,
            f"{owner}: the input must have {rank + 1} or {rank + 2} dimensions",
            got=str(x),
        )


def _even_width(name: str, input: Any, output_size: Any) -> int:
    """Length of the windows that split the last axis of (N, C, L) evenly."""
    count = check_positive_int(name, "output_size", output_size)
    if len(input.shape) != 3 or input.shape[2] < count or input.shape[2] % count:
        raise problem(
            ValueError,
            f"{name}: the input must be (N, C, L) with L divisible by output_size",
            got=f"shape {list(input.shape)} and output_size {count}",
        )
    return input.shape[2] // count


def adaptive_avg_pool1d(input: Any, output_size: int) -> Any:
    """Adaptive average pooling of (N, C, L) to `output_size`, which must divide L."""
    width = _even_width("adaptive_avg_pool1d", input, output_size)
    return WindowAverage.of(read_window("adaptive_avg_pool1d", 1, width, width))(input)


def adaptive_max_pool1d(input: Any, output_size: int) -> Any:
    """Adaptive max pooling of (N, C, L) to `output_size`, which must divide L."""
    width = _even_width("adaptive_max_pool1d", input, output_size)
    return WindowMaximum.of(read_window("adaptive_max_pool1d", 1, width, width))(input)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """Adaptive average pooling over the last two axes, to `output_size`."""
    return AdaptiveAvgPool2D.of(_hashable(output_size))(input)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """Adaptive average pooling over the last three axes, to `output_size`."""
    return AdaptiveAvgPool3D.of(_hashable(output_size))(input)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Adaptive max pooling over the last two axes, to `output_size`, optionally with indices."""
    values, places = AdaptiveMaxPool2D.of(_hashable(output_size))(input)
    return (values, places) if return_indices else values


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Adaptive max pooling over the last three axes, to `output_size`, optionally with indices."""
    values, places = AdaptiveMaxPool3D.of()(input, output_size)
    return (values, places) if return_indices else values


def _hashable(size: Any) -> Any:
    return tuple(size) if isinstance(size, list) else size
