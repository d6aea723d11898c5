"""Max pooling that also returns the indices of the maxima, and max unpooling."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool, check_string, is_int
from mycelia._engine.core.dtype import DType, as_dtype
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.max_pooling import largest_and_place
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.window import Window, positive_sizes, read_window
from mycelia.ops.pooling.window_pooling import MaxPoolGrad, pooled_type
from mycelia.ops.shapes.reshape import reshape


class MaxPoolWithArgmax(Op):
    """Max pooling over (N, C, H, W), and the flat indices of the maxima in each channel."""

    kernel_size: Any = 1
    strides: Any = 1
    pad_mode: str = "valid"
    data_format: str = "NCHW"
    examples = (
        case("f32[2,2,4,6]:distinct", kernel_size=2, strides=2),
        case("f32[1,2,5,6]:distinct", kernel_size=3, strides=2, pad_mode="same"),
    )

    def normalize(self) -> dict[str, Any]:
        check_string(self.name, "pad_mode", self.pad_mode.lower(), ("valid", "same"))
        check_string(self.name, "data_format", self.data_format, ("NCHW",))
        return {"kernel_size": freeze(self.kernel_size), "strides": freeze(self.strides)}

    @cached_property
    def window(self) -> Window:
        return read_window(self.name, 2, self.kernel_size, self.strides, 1, self.pad_mode)

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        values = pooled_type(self.name, x, self.window, False)
        return values, values.with_dtype(dtypes.int32)

    def lower(self, x: Array) -> tuple[Array, ...]:
        return largest_and_place(x, self.window, np.dtype(np.int32))

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (MaxPoolGrad.of(self.window)(x, dout[0]),)


class MaxPoolWithArgmaxV2(Op):
    """As MaxPoolWithArgmax, with padding, dilation, and ceil mode."""

    kernel_size: Any
    strides: Any = None
    pads: Any = 0
    dilation: Any = (1, 1)
    ceil_mode: bool = False
    argmax_type: DType = dtypes.int64
    examples = (
        case("f32[2,2,4,6]:distinct", kernel_size=2, strides=2, pads=1),
        case("f32[1,1,5,6]:distinct", kernel_size=2, strides=1, dilation=(2, 2)),
        case("f32[1,1,5,5]:distinct", kernel_size=(2, 3), ceil_mode=True),
    )

    def normalize(self) -> dict[str, Any]:
        _check_places(self.name, self.ceil_mode, self.argmax_type)
        names = ("kernel_size", "strides", "pads", "dilation")
        return {name: freeze(getattr(self, name)) for name in names}

    @cached_property
    def window(self) -> Window:
        strides = self.kernel_size if self.strides is None else self.strides
        sizes = (self.kernel_size, strides, self.dilation)
        return _indices_window(self.name, 2, *sizes, self.pads, self.ceil_mode)

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        values = pooled_type(self.name, x, self.window, False)
        return values, values.with_dtype(as_dtype(self.argmax_type))

    def lower(self, x: Array) -> tuple[Array, ...]:
        return largest_and_place(x, self.window, as_dtype(self.argmax_type).numpy)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (MaxPoolGrad.of(self.window)(x, dout[0]),)


class MaxPool3DWithArgmax(Op):
    """Max pooling over (N, C, D, H, W), and the flat indices of the maxima in each channel."""

    ksize: Any
    strides: Any
    pads: Any
    dilation: Any = (1, 1, 1)
    ceil_mode: bool = False
    data_format: str = "NCDHW"
    argmax_type: DType = dtypes.int64
    examples = (
        case("f32[1,2,4,4,3]:distinct", ksize=2, strides=2, pads=0),
        case("f32[1,1,3,3,3]:distinct", ksize=2, strides=2, pads=1, argmax_type=dtypes.int32),
    )

    def normalize(self) -> dict[str, Any]:
        _check_places(self.name, self.ceil_mode, self.argmax_type)
        check_string(self.name, "data_format", self.data_format, ("NCDHW",))
        names = ("ksize", "strides", "pads", "dilation")
        return {name: freeze(getattr(self, name)) for name in names}

    @cached_property
    def window(self) -> Window:
        sizes = (self.ksize, self.strides, self.dilation)
        return _indices_window(self.name, 3, *sizes, self.pads, self.ceil_mode)

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        values = pooled_type(self.name, x, self.window, False)
        return values, values.with_dtype(as_dtype(self.argmax_type))

    def lower(self, x: Array) -> tuple[Array, ...]:
        return largest_and_place(x, self.window, as_dtype(self.argmax_type).numpy)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (MaxPoolGrad.of(self.window)(x, dout[0]),)


class _MaxUnpool(Op, register=False):
    """Puts values back at their indices, with zeros everywhere else."""

    ksize: Any
    strides: Any = 0
    pads: Any = 0
    output_shape: tuple[int, ...] = ()
    data_format: str = "NCHW"
    rank = 2

    def normalize(self) -> dict[str, Any]:
        names = ("ksize", "strides", "pads", "output_shape")
        return {name: freeze(getattr(self, name)) for name in names}

    def infer(self, x: TensorType, argmax: TensorType) -> TensorType:
        if x.ndim != self.rank + 2 or x.shape != argmax.shape or not argmax.dtype.is_integer:
            raise problem(
                ValueError,
                f"{self.name}: the values and their indices do not match",
                got=f"x {x} and argmax {argmax}",
                expected=f"equal shapes of {self.rank + 2} dimensions, and integer indices",
            )
        return x.with_shape(self._result(x.shape))

    def bounds(self, x: Any, argmax: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.indices(1, prod(self._result(x.shape)[2:])),)

    def lower(self, x: Array, argmax: Array) -> Array:
        shape = self._result(x.shape)
        rows, count = x.shape[0] * x.shape[1], prod(x.shape[2:])
        values, places = jnp.reshape(x, (rows, count)), jnp.reshape(argmax, (rows, count))
        empty = jnp.zeros((rows, prod(shape[2:])), x.dtype)
        return empty.at[jnp.arange(rows)[:, None], places].set(values).reshape(shape)

    def _result(self, shape: Shape) -> Shape:
        if self.output_shape:
            return (*shape[:2], *self.output_shape[-self.rank :])
        kernel = positive_sizes(self.name, "ksize", self.ksize, self.rank)
        given = kernel if self.strides in (0, (0,) * self.rank) else self.strides
        strides = positive_sizes(self.name, "strides", given, self.rank)
        pads = (self.pads,) * self.rank if is_int(self.pads) else self.pads
        axes = zip(shape[2:], strides, pads, kernel, strict=True)
        return (*shape[:2], *((n - 1) * s - 2 * p + k for n, s, p, k in axes))


class MaxUnpool2D(_MaxUnpool):
    """Max unpooling of (N, C, H, W): the inverse of max pooling with indices."""

    examples = (
        case("f32[1,1,2,2]", "i64[1,1,2,2]:<2", ksize=2, strides=2, differentiate=False),
        case("f32[2,2,1,1]", "i32[2,2,1,1]:<4", ksize=2, output_shape=(2, 2, 2, 3)),
    )


class MaxUnpool3D(_MaxUnpool):
    """Max unpooling of (N, C, D, H, W): the inverse of max pooling with indices."""

    data_format: str = "NCDHW"
    rank = 3
    examples = (case("f32[2,1,1,1,1]", "i64[2,1,1,1,1]:<8", ksize=2, strides=2),)


def max_unpool1d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Any:  # fmt: skip
    """Max unpooling of (N, C, L) or (C, L): the inverse of max pooling with indices."""
    lead = (1,) * (3 - len(x.shape))
    flat = (*lead, *x.shape[:-1], 1, x.shape[-1])
    kernel, step, pad = (
        value[0] if isinstance(value, tuple) else value
        for value in (kernel_size, kernel_size if stride is None else stride, padding)
    )
    wanted = () if output_size is None else (1, tuple(output_size)[-1])
    op = MaxUnpool2D.of((1, kernel), (1, step), (0, pad), wanted)
    result = op(reshape(x, flat), reshape(indices, flat))
    return reshape(result, (*x.shape[:-1], result.shape[-1]))


def max_unpool2d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Any:  # fmt: skip
    """Max unpooling of (N, C, H, W) or (C, H, W): the inverse of max pooling with indices."""
    return _unpool(MaxUnpool2D, x, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Any:  # fmt: skip
    """Max unpooling of (N, C, D, H, W) or (C, D, H, W): the inverse of max pooling."""
    return _unpool(MaxUnpool3D, x, indices, kernel_size, stride, padding, output_size)


def _unpool(
    kind: Any, x: Any, indices: Any, kernel: Any, stride: Any, padding: Any, size: Any
) -> Any:
    step = kernel if stride is None else stride
    wanted = () if size is None else freeze(size)
    op = kind.of(freeze(kernel), freeze(step), freeze(padding), wanted)
    if len(x.shape) == kind.rank + 2:
        return op(x, indices)
    result = op(reshape(x, (1, *x.shape)), reshape(indices, (1, *x.shape)))
    return reshape(result, result.shape[1:])


def _indices_window(
    owner: str, rank: int, kernel: Any, strides: Any, dilation: Any, pads: Any, ceil: bool
) -> Window:
    """A window with one padding per axis, at most half the kernel."""
    if not is_int(pads) and (not isinstance(pads, tuple) or len(pads) != rank):
        raise wrong_value(owner, "pads", pads, f"an int or a tuple of {rank} ints")
    around = (pads,) * rank if is_int(pads) else pads
    doubled = tuple(p for p in around for _ in range(2))
    window = read_window(owner, rank, kernel, strides, dilation, "pad", doubled, ceil)
    if any(2 * p > k for p, k in zip(around, window.kernel, strict=True)):
        raise problem(
            ValueError,
            f"{owner}: the padding exceeds half of the kernel",
            got=f"pads {around} and kernel {window.kernel}",
        )
    return window


def _check_places(owner: str, ceil_mode: Any, argmax_type: Any) -> None:
    check_bool(owner, "ceil_mode", ceil_mode)
    if as_dtype(argmax_type) not in (dtypes.int32, dtypes.int64):
        raise problem(
            TypeError,
            f"{owner}: 'argmax_type' must be int32 or int64",
            got=str(argmax_type),
        )
