"""Element-wise functions: arithmetic, rounding, comparison, and selection."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import bool_
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.tensor_protocol import TensorProtocol, check_tensors
from mycelia.mint.float_functions import as_float
from mycelia.tensor.tensor import Tensor


def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input + alpha * other."""
    return ops.add(input, _scaled(other, alpha))


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input - alpha * other."""
    return ops.sub(input, _scaled(other, alpha))


def _scaled(other: Any, alpha: Any) -> Any:
    return other if alpha == 1 else other * alpha


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """input + value * tensor1 / tensor2."""
    return ops.add(input, _scaled(ops.div(tensor1, tensor2), value))


def atan2(input: Any, other: Any) -> Any:
    """The angle of the point (input, other), from -pi to pi."""
    return ops.atan2(as_float(input), as_float(other))


def arctan2(input: Any, other: Any) -> Any:
    """The angle of the point (input, other), from -pi to pi."""
    return atan2(input, other)


def xlogy(input: Any, other: Any) -> Any:
    """input * log(other), and 0 where input is 0."""
    first, second = as_float(input), as_float(other)
    if not isinstance(first, TensorProtocol):
        first = ops.full_like(second, first)
    if not isinstance(second, TensorProtocol):
        second = ops.full_like(first, second)
    return ops.xlogy(first, second)


def logaddexp2(input: Any, other: Any) -> Any:
    """log2(2 ** input + 2 ** other), without overflow."""
    return ops.logaddexp2(as_float(input), as_float(other))


def frac(input: Any) -> Any:
    """The fractional part of each element, with its sign."""
    return ops.sub(input, ops.trunc(input))


def fix(input: Any) -> Any:
    """Round each element toward 0."""
    return ops.trunc(input)


def ceil(input: Any) -> Any:
    """Round each element up to the nearest integer."""
    check_tensors("ceil", input=input)
    return ops.ceil(input) if input.dtype.is_float else ops.identity(input)


def floor(input: Any) -> Any:
    """Round each element down to the nearest integer."""
    check_tensors("floor", input=input)
    return ops.floor(input) if input.dtype.is_float else ops.identity(input)


def bitwise_not(input: Any) -> Any:
    """Bitwise NOT; logical NOT for bools."""
    check_tensors("bitwise_not", input=input)
    return ops.logical_not(input) if input.dtype is bool_ else ops.invert(input)


def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Clamp `input` to [min, max]; if min > max, the result is max."""
    if min is None and max is None:
        raise problem(ValueError, "clamp: min and max are both None", expected="min or max")
    raised = input if min is None else ops.maximum(input, min)
    return raised if max is None else ops.minimum(raised, max)


def clone(input: Any) -> Any:
    """Copy the tensor; gradients flow through the copy."""
    check_tensors("clone", input=input)
    return input.copy()


def imag(input: Any) -> Any:
    """The imaginary part of each element."""
    return ops.imag(input)


def isnan(tensor: Any) -> Any:
    """Whether each element is NaN."""
    return ops.isnan(tensor) if tensor.dtype.is_inexact else _never(tensor)


def isinf(input: Any) -> Any:
    """Whether each element is infinite."""
    check_tensors("isinf", input=input)
    return ops.isinf(input) if input.dtype.is_inexact else _never(input)


def isfinite(input: Any) -> Any:
    """Whether each element is finite (neither infinite nor NaN)."""
    return ops.logical_not(ops.logical_or(isnan(input), isinf(input)))


def isneginf(input: Any) -> Any:
    """Whether each element is -infinity."""
    check_tensors("isneginf", input=input)
    return ops.isneginf(input) if input.dtype.is_float else _never(input)


def _never(x: Any) -> Any:
    return ops.zeros_like(x, dtype=bool_)


def equal(input: Any, other: Any) -> Any:
    """Whether two tensors have the same shape and elements, as a bool tensor."""
    check_tensors("equal", input=input, other=other)
    if input.shape != other.shape:
        return Tensor(False)
    return ops.all(ops.equal(input, other))


def allclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close: |input - other| <= atol + rtol * |other|."""
    return bool(ops.all(ops.isclose(input, other, rtol, atol, equal_nan)))


def lerp(input: Any, end: Any, weight: Any) -> Any:
    """input + weight * (end - input)."""
    return ops.lerp(input, end, weight)


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """Select `input` where `condition` holds, else `other`.

    With `condition` alone, return the indices where it holds.
    """
    if input is None and other is None:
        return ops.nonzero(condition, as_tuple=True)
    return ops.where(condition, input, other)
