"""Operator families: the rules that many operators share."""

from __future__ import annotations

from typing import Any, ClassVar

from mycelia._engine.core.dtype import DType, bool_
from mycelia._engine.core.shape import Shape, broadcast, normalize_axes
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.operator import Op, unsupported_dtype


class Unary(Op, register=False):
    """One input tensor, one result of the same shape. `kinds` are the accepted dtypes."""

    kinds: ClassVar[tuple[str, ...]] = ("bool", "int", "uint", "float", "complex")
    takes_sequences = False
    elementwise = True

    def infer(self, x: TensorType) -> TensorType:
        if x.dtype.kind not in self.kinds:
            raise unsupported_dtype(self.name, x, f"a tensor of kind {', '.join(self.kinds)}")
        return x.with_dtype(self.result_dtype(x.dtype))

    def result_dtype(self, dtype: DType) -> DType:
        return dtype


class FloatUnary(Unary, register=False):
    """A unary operator that is only defined for floating-point and complex numbers."""

    kinds = ("float", "complex")


class Binary(Op, register=False):
    """Two broadcasting tensors of one dtype, one result."""

    promotes = ("x", "y")
    kinds: ClassVar[tuple[str, ...]] = ("bool", "int", "uint", "float", "complex")
    takes_sequences = False
    elementwise = True

    def infer(self, x: TensorType, y: TensorType) -> TensorType:
        if x.dtype.kind not in self.kinds:
            raise unsupported_dtype(self.name, x, f"tensors of kind {', '.join(self.kinds)}")
        shape = broadcast(x.shape, y.shape, op=self.name)
        return TensorType(self.result_dtype(x.dtype), shape)

    def result_dtype(self, dtype: DType) -> DType:
        return dtype


class Compare(Binary, register=False):
    """A binary operator whose result is bool; it has no gradient."""

    differentiable = False

    def result_dtype(self, dtype: DType) -> DType:
        return bool_


class Reduction(Op, register=False):
    """A reduction over `axis` (all axes when empty)."""

    static = ("axis",)
    keep_dims: bool = False

    def infer(self, x: TensorType, axis: Any = ()) -> TensorType:
        axes = normalize_axes(axis, x.ndim, self.name)
        return TensorType(self.result_dtype(x.dtype), reduced_shape(x.shape, axes, self.keep_dims))

    def result_dtype(self, dtype: DType) -> DType:
        return dtype

    def axes(self, x: Any, axis: Any) -> tuple[int, ...]:
        return normalize_axes(axis, x.ndim, self.name)

    def kept(self, x: Any, axis: Any) -> Shape:
        """The shape of the result if the reduced axes have size 1."""
        return reduced_shape(x.shape, self.axes(x, axis), keep_dims=True)


def reduced_shape(shape: Shape, axes: tuple[int, ...], keep_dims: bool) -> Shape:
    """The shape after reducing `axes` (size 1 with `keep_dims`)."""
    if keep_dims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)
