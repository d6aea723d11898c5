"""Comparisons, logical operators, and tests for NaN and infinity. They have no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_float
from mycelia._engine.core.dtype import DType, bool_, float32
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import broadcast
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.families import Compare, Unary
from mycelia._engine.operators.numpy_kernels import refusing
from mycelia._engine.operators.operator import Op, unsupported_dtype

_PAIRS = (
    case("f32[2,3]", "f32[2,3]"),
    case("i32[2,1]", "i32[3]"),
    case("bool[2]", "bool[]"),
    case("f16[0,3]", "f16[3]"),
)


class Equal(Compare):
    """Elementwise x == y."""

    examples = (*_PAIRS, case("c64[2]", "c64[2]"))
    host = staticmethod(np.equal)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.equal(x, y)


class NotEqual(Compare):
    """Elementwise x != y."""

    examples = (*_PAIRS, case("c64[2]", "c64[2]"))
    host = staticmethod(np.not_equal)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.not_equal(x, y)


class _Ordered(Compare, register=False):
    """Base class of comparisons that need an order."""

    kinds = ("bool", "int", "uint", "float")
    examples = _PAIRS


class Greater(_Ordered):
    """Elementwise x > y."""

    host = refusing("c", np.greater)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.greater(x, y)


class GreaterEqual(_Ordered):
    """Elementwise x >= y."""

    host = refusing("c", np.greater_equal)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.greater_equal(x, y)


class Less(_Ordered):
    """Elementwise x < y."""

    host = refusing("c", np.less)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.less(x, y)


class LessEqual(_Ordered):
    """Elementwise x <= y."""

    host = refusing("c", np.less_equal)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.less_equal(x, y)


class LogicalAnd(Compare):
    """Logical AND, element by element; nonzero numbers count as true."""

    examples = _PAIRS
    host = staticmethod(np.logical_and)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.logical_and(x, y)


class LogicalOr(Compare):
    """Logical OR, element by element; nonzero numbers count as true."""

    examples = _PAIRS
    host = staticmethod(np.logical_or)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.logical_or(x, y)


class LogicalXor(Compare):
    """Logical XOR, element by element; nonzero numbers count as true."""

    examples = _PAIRS
    host = staticmethod(np.logical_xor)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.logical_xor(x, y)


class _Test(Unary, register=False):
    """Base class of elementwise tests with a bool result."""

    differentiable = False

    def result_dtype(self, dtype: DType) -> DType:
        return bool_


class LogicalNot(_Test):
    """Logical NOT, element by element."""

    examples = (case("bool[2,3]"), case("f32[3]"), case("i32[]"))
    host = staticmethod(np.logical_not)

    def lower(self, x: Array) -> Array:
        return jnp.logical_not(x)


class IsNan(_Test):
    """Tests each element for NaN."""

    examples = (case("f32[2,3]"), case("i32[2]"), case("bf16[]"), case("c64[2]"))
    host = staticmethod(np.isnan)

    def lower(self, x: Array) -> Array:
        return jnp.isnan(x)


class IsInf(_Test):
    """Tests each element for positive or negative infinity."""

    kinds = ("float",)
    examples = (case("f32[2,3]"), case("f16[0]"), case("f64[]"))
    host = refusing("biuc", np.isinf)

    def lower(self, x: Array) -> Array:
        return jnp.isinf(x)


class IsFinite(_Test):
    """Tests whether each element is finite."""

    examples = (case("f32[2,3]"), case("i32[2]"), case("bf16[]"), case("c64[2]"))
    host = staticmethod(np.isfinite)

    def lower(self, x: Array) -> Array:
        return jnp.isfinite(x)


class FloatStatus(Op):
    """Overflow flag: 1 if any element of x is infinite or NaN, else 0."""

    differentiable = False
    examples = (case("f32[2,3]"), case("f16[4]"), case("f32[]"))

    def infer(self, x: TensorType) -> TensorType:
        if not x.dtype.is_float:
            raise unsupported_dtype(self.name, x, "a float tensor")
        return TensorType(float32, (1,))

    def lower(self, x: Array) -> Array:
        return jnp.any(~jnp.isfinite(x)).astype(np.float32).reshape((1,))


class ApproximateEqual(Compare):
    """Elementwise |x - y| < tolerance."""

    tolerance: float = 1e-05
    kinds = ("float",)
    examples = (case("f32[3]", "f32[3]"), case("f32[2,1]", "f32[3]", tolerance=1.0))

    def normalize(self) -> dict[str, Any]:
        return {"tolerance": check_float(self.name, "tolerance", self.tolerance)}

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.abs(jnp.subtract(x, y)) < self.tolerance


class IsClose(Op):
    """Elementwise |x - y| <= atol + rtol * |y|, for tensors of the same dtype."""

    rtol: float = 1e-05
    atol: float = 1e-08
    equal_nan: bool = False
    differentiable = False
    examples = (
        case("f32[3]", "f32[3]"),
        case("f64[2,1]", "f64[3]", rtol=0.5, equal_nan=False),
        case("i32[2]", "i32[2]"),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool(self.name, "equal_nan", self.equal_nan)
        return {
            "rtol": check_float(self.name, "rtol", self.rtol),
            "atol": check_float(self.name, "atol", self.atol),
        }

    def infer(self, input: TensorType, other: TensorType) -> TensorType:
        if input.dtype is not other.dtype:
            raise problem(
                TypeError,
                f"{self.name}: the tensors differ in dtype",
                got=f"{input} and {other}",
                fix="cast one of them with astype",
            )
        return TensorType(bool_, broadcast(input.shape, other.shape, op=self.name))

    def lower(self, input: Array, other: Array) -> Array:
        return jnp.isclose(input, other, self.rtol, self.atol, self.equal_nan)


def equal(input: Any, other: Any) -> Any:
    """Elementwise input == other."""
    return Equal.of()(input, other)


def not_equal(input: Any, other: Any) -> Any:
    """Elementwise input != other."""
    return NotEqual.of()(input, other)


def greater(input: Any, other: Any) -> Any:
    """Elementwise input > other."""
    return Greater.of()(input, other)


def greater_equal(input: Any, other: Any) -> Any:
    """Elementwise input >= other."""
    return GreaterEqual.of()(input, other)


def less(input: Any, other: Any) -> Any:
    """Elementwise input < other."""
    return Less.of()(input, other)


def less_equal(input: Any, other: Any) -> Any:
    """Elementwise input <= other."""
    return LessEqual.of()(input, other)


eq = equal
ne = not_equal
gt = tensor_gt = greater
ge = tensor_ge = greater_equal
lt = tensor_lt = less
le = tensor_le = less_equal


def logical_and(input: Any, other: Any) -> Any:
    """Logical AND, element by element; nonzero numbers count as true."""
    return LogicalAnd.of()(input, other)


def logical_or(input: Any, other: Any) -> Any:
    """Logical OR, element by element; nonzero numbers count as true."""
    return LogicalOr.of()(input, other)


def logical_xor(input: Any, other: Any) -> Any:
    """Logical XOR, element by element; nonzero numbers count as true."""
    return LogicalXor.of()(input, other)


def logical_not(input: Any) -> Any:
    """Logical NOT, element by element."""
    return LogicalNot.of()(input)


def isnan(input: Any) -> Any:
    """Tests each element for NaN."""
    return IsNan.of()(input)


def isinf(input: Any) -> Any:
    """Tests each element for positive or negative infinity."""
    return IsInf.of()(input)


def isfinite(input: Any) -> Any:
    """Tests whether each element is finite."""
    return IsFinite.of()(input)


def isposinf(input: Any) -> Any:
    """Tests each element for positive infinity."""
    return logical_and(isinf(input), greater(input, 0))


def isneginf(input: Any) -> Any:
    """Tests each element for negative infinity."""
    return logical_and(isinf(input), less(input, 0))


def isclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    """Elementwise |input - other| <= atol + rtol * |other|."""
    return IsClose.of(rtol, atol, equal_nan)(input, other)


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-05) -> Any:
    """Elementwise |x - y| < tolerance."""
    return ApproximateEqual.of(tolerance)(x, y)


def is_nonzero(input: Any) -> bool:
    """Whether the single element of `input` is not 0."""
    if input.shape not in ((), (1,)):
        raise problem(
            ValueError, "is_nonzero: the tensor must have one element", got=f"shape {input.shape}"
        )
    return bool(np.asarray(input).item())
