"""Variances and standard deviations."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.dtype import float32
from mycelia._engine.core.errors import wrong_type
from mycelia._engine.core.shape import as_shape, normalize_axes
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.families import reduced_shape
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.argument_types import check_axes
from mycelia.ops.elementwise.arithmetic import div, square, sub
from mycelia.ops.elementwise.exponential import sqrt
from mycelia.ops.reduction.reduction import ReduceMean, ReduceSum
from mycelia.ops.shapes.reshape import cast, reshape


class ReduceStd(Op):
    """Standard deviation and mean over axes (all axes when empty)."""

    axis: tuple[int, ...] = ()
    unbiased: bool = True
    keep_dims: bool = False
    examples = (
        case("f32[2,3]"),
        case("f32[2,3,4]", axis=(0, -1), unbiased=False, keep_dims=True),
        case("f16[4]", axis=0),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool(self.name, "unbiased", self.unbiased)
        check_bool(self.name, "keep_dims", self.keep_dims)
        return {"axis": as_shape(self.axis, self.name)}

    def infer(self, x: TensorType) -> tuple[TensorType, TensorType]:
        if not x.dtype.is_float:
            raise unsupported_dtype(self.name, x, "a float tensor")
        if self.axis:
            check_axes(self.name, "x", x)
        axes = normalize_axes(self.axis, x.ndim, self.name)
        result = x.with_shape(reduced_shape(x.shape, axes, self.keep_dims))
        return result, result

    def lower(self, x: Array) -> tuple[Array, Array]:
        options: dict[str, Any] = {"axis": self.axis or None, "keepdims": self.keep_dims}
        deviation = jnp.std(x, ddof=int(self.unbiased), dtype=x.dtype, **options)
        return deviation, jnp.mean(x, dtype=x.dtype, **options)


def var(input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """Variance over `axis`, with the divisor count - ddof."""
    check_tensors("var", input=input)
    return var_mean(input, axis, ddof, keepdims)[0]


def std(input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """Standard deviation over `axis`."""
    check_tensors("std", input=input)
    return sqrt(var(input, axis, ddof, keepdims))


def var_mean(
    input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False
) -> tuple[Any, Any]:
    """Variance and mean over `axis`."""
    check_tensors("var_mean", input=input)
    if input.dtype.is_complex:
        raise unsupported_dtype("var", TensorType(input.dtype, input.shape), "a real tensor")
    if not input.dtype.is_float:
        input = cast(input, float32)
    if not isinstance(ddof, int):
        raise wrong_type("var", "ddof", ddof, "int or bool")
    axes = normalize_axes(axis, len(input.shape), "var") if input.shape else ()
    count = math.prod(input.shape[i] for i in axes)
    center = ReduceMean.of(True)(input, axes)
    total = ReduceSum.of(keepdims)(square(sub(input, center)), axes)
    mean = reshape(center, reduced_shape(input.shape, axes, keepdims))
    return div(total, float(max(count - int(ddof), 0))), mean


def std_mean(
    input: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False
) -> tuple[Any, Any]:
    """Standard deviation and mean over `axis`."""
    check_tensors("std_mean", input=input)
    variance, mean = var_mean(input, axis, ddof, keepdims)
    return sqrt(variance), mean
