"""Elementwise arithmetic: sums, products, quotients, absolute values, maxima, and minima."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.dtype import DType, at_least_float
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.families import Binary, Unary
from mycelia._engine.operators.numpy_kernels import refusing
from mycelia._engine.operators.operator import Op
from mycelia.ops.elementwise.comparison import equal, greater, not_equal
from mycelia.ops.elementwise.rounding import FloorDiv, TruncateDiv, integer_quotient, trunc
from mycelia.ops.shapes.reshape import cast, sum_to

PAIRS = (case("f32[2,3]", "f32[2,3]"), case("f32[2,1]", "f32[3]"), case("f32[0,3]", "f32[]"))
_QUOTIENTS = (
    case("f32[2,3]", "f32[3]:spread"),
    case("f32[2,1]", "f32[]:positive"),
    case("f32[0,3]", "f32[3]"),
)


class Add(Binary):
    """Addition with broadcasting: x + y."""

    examples = (*PAIRS, case("i64[2]", "i64[2]"), case("bool[2]", "bool[2]"))
    host = staticmethod(np.add)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.add(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return sum_to(dout, x.shape), sum_to(dout, y.shape)


class Sub(Binary):
    """Subtraction with broadcasting: x - y."""

    kinds = ("int", "uint", "float", "complex")
    examples = (*PAIRS, case("i32[2]", "i32[2]"))
    host = staticmethod(np.subtract)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.subtract(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return sum_to(dout, x.shape), sum_to(neg(dout), y.shape)


class Mul(Binary):
    """Multiplication with broadcasting: x * y."""

    scalars_follow = True
    examples = (*PAIRS, case("i32[2]", "i32[2]"), case("bool[2]", "bool[2]"))
    host = staticmethod(np.multiply)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.multiply(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return sum_to(mul(dout, y), x.shape), sum_to(mul(dout, x), y.shape)


class MulNoNan(Binary):
    """x * y, and 0 where y is 0 even if x is infinite or NaN."""

    kinds = ("int", "uint", "float", "complex")
    examples = (*PAIRS, case("i32[2]", "i32[2]:<2"))

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.where(y == 0, jnp.zeros_like(y), jnp.multiply(x, y))

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        toward_x, toward_y = MulNoNan.of()(dout, y), MulNoNan.of()(x, dout)
        nonzero = cast(not_equal(y, 0), y.dtype)
        return sum_to(toward_x, x.shape), sum_to(mul(toward_y, nonzero), y.shape)


class Div(Binary):
    """True division: x / y. Integers are converted to floating point."""

    scalars_follow = True
    examples = (*_QUOTIENTS, case("i32[2]", "i32[2]:<3"), case("bool[2]", "bool[2]"))

    def result_dtype(self, dtype: DType) -> DType:
        return at_least_float(dtype)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.true_divide(_with_fraction(x), _with_fraction(y))

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        scaled = div(dout, y)
        dx, dy = sum_to(scaled, x.shape), sum_to(neg(mul(scaled, out)), y.shape)
        if x.dtype.is_inexact or x.dtype.is_bool or not x.shape or not y.shape:
            return dx, dy
        return cast(dx, x.dtype), cast(dy, y.dtype)  # as MindSpore for two tensors


class RealDiv(Binary):
    """Division in the dtype of the tensors: integer quotients are rounded toward zero."""

    kinds = ("int", "uint", "float", "complex")
    examples = (*_QUOTIENTS, case("i32[2]", "i32[2]:<3"))

    def lower(self, x: Array, y: Array) -> Array:
        if jnp.issubdtype(x.dtype, jnp.inexact):
            return jnp.true_divide(x, y)
        return integer_quotient(x, y, lax.div)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        scaled = div(dout, y)
        return sum_to(scaled, x.shape), sum_to(neg(mul(scaled, out)), y.shape)


class DivNoNan(Binary):
    """Division that returns 0 where y is 0."""

    kinds = ("float", "complex")
    examples = (*_QUOTIENTS, case("f32[3]", "f32[3]:zeros", differentiate=False))

    def lower(self, x: Array, y: Array) -> Array:
        zero = y == 0
        quotient = jnp.true_divide(x, jnp.where(zero, jnp.ones_like(y), y))
        return jnp.where(zero, jnp.zeros_like(quotient), quotient)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        scaled = DivNoNan.of()(dout, y)
        return sum_to(scaled, x.shape), sum_to(neg(mul(scaled, out)), y.shape)


class Xdivy(Binary):
    """Division that returns 0 where x is 0."""

    kinds = ("float", "complex")
    examples = (*_QUOTIENTS, case("f32[3]:zeros", "f32[3]:zeros", differentiate=False))

    def lower(self, x: Array, y: Array) -> Array:
        x, y = jnp.broadcast_arrays(x, y)
        zero = x == 0
        quotient = jnp.true_divide(x, jnp.where(zero, jnp.ones_like(y), y))
        return jnp.where(zero, jnp.zeros_like(quotient), quotient)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        inverse = Xdivy.of()(cast(not_equal(x, 0), x.dtype), y)
        scaled = mul(dout, inverse)
        return sum_to(scaled, x.shape), sum_to(neg(mul(scaled, out)), y.shape)


class Reciprocal(Unary):
    """Reciprocal: 1 / x. Integers are converted to floating point."""

    examples = (case("f32[2,3]:spread"), case("f32[]:positive"), case("i32[2]"))

    def result_dtype(self, dtype: DType) -> DType:
        return at_least_float(dtype)

    def lower(self, x: Array) -> Array:
        return jnp.reciprocal(_with_fraction(x))

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (neg(mul(dout, mul(out, out))),)


class Inv(Unary):
    """Reciprocal, 1 / x, in the dtype of x."""

    kinds = ("int", "float", "complex")
    examples = (case("f32[2,3]:spread"), case("f32[]:positive"), case("i32[2]"))

    def lower(self, x: Array) -> Array:
        if jnp.issubdtype(x.dtype, jnp.inexact):
            return jnp.reciprocal(x)
        return integer_quotient(jnp.ones_like(x), x, lax.div)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (neg(mul(dout, mul(out, out))),)


class Neg(Unary):
    """Negation: -x."""

    kinds = ("int", "uint", "float", "complex")
    examples = (case("f32[2,3]"), case("i32[2]"), case("f32[]"))
    host = staticmethod(np.negative)

    def lower(self, x: Array) -> Array:
        return jnp.negative(x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (neg(dout),)


class Abs(Unary):
    """Absolute value: |x|. Complex numbers keep their dtype."""

    examples = (case("f32[2,3]:spread"), case("i32[2]"), case("f32[]:spread"), case("bool[2]"))

    def lower(self, x: Array) -> Array:
        return x if x.dtype == jnp.bool_ else jnp.abs(x).astype(x.dtype)

    def host(self, x: Any) -> Any:
        return np.abs(x) if x.dtype.kind != "c" else np.abs(x).astype(x.dtype)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, sign(x)),)


class Sign(Unary):
    """Sign: -1, 0, or 1; x / |x| for complex numbers."""

    kinds = ("int", "float", "complex")
    differentiable = False
    examples = (case("f32[2,3]"), case("i32[2]"), case("f32[]:zeros"), case("c64[2]"))

    def lower(self, x: Array) -> Array:
        return jnp.sign(x)


class Square(Unary):
    """Square: x * x."""

    kinds = ("int", "uint", "float", "complex")
    examples = (case("f32[2,3]"), case("i32[2]"), case("f32[]"))
    host = refusing("b", np.square)

    def lower(self, x: Array) -> Array:
        return jnp.multiply(x, x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(mul(dout, x), 2.0),)


class SquaredDifference(Binary):
    """Squared difference: (x - y) ** 2."""

    kinds = ("int", "float", "complex")
    examples = (*PAIRS, case("i32[2]", "i32[2]"))

    def lower(self, x: Array, y: Array) -> Array:
        difference = jnp.subtract(x, y)
        return difference * difference

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        slope = mul(mul(dout, sub(x, y)), 2.0)
        return sum_to(slope, x.shape), sum_to(neg(slope), y.shape)


class Maximum(Binary):
    """Elementwise maximum; equal elements share the gradient."""

    kinds = ("bool", "int", "uint", "float")
    examples = (*PAIRS, case("i32[2]", "i32[2]"), case("bool[2]", "bool[2]"))
    host = refusing("c", np.maximum)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.maximum(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        toward_x = mul(dout, _share_of_larger(x, y, dout.dtype))
        return sum_to(toward_x, x.shape), sum_to(sub(dout, toward_x), y.shape)


class Minimum(Binary):
    """Elementwise minimum; equal elements share the gradient."""

    kinds = ("bool", "int", "uint", "float")
    examples = (*PAIRS, case("i32[2]", "i32[2]"), case("bool[2]", "bool[2]"))
    host = refusing("c", np.minimum)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.minimum(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        toward_x = mul(dout, _share_of_larger(y, x, dout.dtype))
        return sum_to(toward_x, x.shape), sum_to(sub(dout, toward_x), y.shape)


class AddN(Op):
    """Sum of all tensors of a tuple or list."""

    elementwise = True
    examples = (case(("f32[2,3]", "f32[2,3]", "f32[2,3]")), case(("i32[2]", "i32[2]")))

    def infer(self, x: tuple[TensorType, ...]) -> TensorType:
        if not isinstance(x, tuple):
            raise problem(TypeError, f"{self.name}: needs a tuple or list of tensors", got=str(x))
        if not x:
            raise problem(ValueError, f"{self.name}: needs at least one tensor", got="none")
        for other in x[1:]:
            if other != x[0]:
                raise problem(
                    ValueError if other.shape != x[0].shape else TypeError,
                    f"{self.name}: the tensors differ in dtype or shape",
                    got=f"{x[0]} and {other}",
                    expected="tensors of the same dtype and shape",
                )
        return x[0]

    def lower(self, x: tuple[Array, ...]) -> Array:
        total = x[0]
        for other in x[1:]:
            total = jnp.add(total, other)
        return total

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (tuple(dout for _ in x),)


class AccumulateNV2(AddN):
    """Sum of all tensors of a tuple or list; an alias of AddN."""


def add(input: Any, other: Any) -> Any:
    """Addition with broadcasting: input + other."""
    return Add.of()(input, other)


def sub(input: Any, other: Any) -> Any:
    """Subtraction with broadcasting: input - other."""
    return Sub.of()(input, other)


def subtract(input: Any, other: Any, *, alpha: float = 1) -> Any:
    """Subtraction with broadcasting: input - alpha * other."""
    return sub(input, other if alpha == 1 else mul(other, alpha))


def mul(input: Any, other: Any) -> Any:
    """Multiplication with broadcasting: input * other."""
    return Mul.of()(input, other)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """Division: input / other. `rounding_mode` 'floor' or 'trunc' rounds the quotient."""
    if rounding_mode is None:
        return Div.of()(input, other)
    if rounding_mode == "floor":
        return FloorDiv.of()(input, other)
    if rounding_mode == "trunc":
        return TruncateDiv.of()(input, other)
    raise problem(
        ValueError,
        "div: unknown rounding_mode",
        got=repr(rounding_mode),
        expected="None, 'floor' or 'trunc'",
    )


def true_divide(dividend: Any, divisor: Any) -> Any:
    """True division: dividend / divisor. Integers are converted to floating point."""
    return Div.of()(dividend, divisor)


def tensor_div(x: Any, y: Any) -> Any:
    """Division in the dtype of the tensors: integer quotients are rounded toward zero."""
    return RealDiv.of()(x, y)


def xdivy(x: Any, y: Any) -> Any:
    """Division that returns 0 where x is 0."""
    return Xdivy.of()(x, y)


def reciprocal(input: Any) -> Any:
    """Reciprocal: 1 / input. Integers are converted to floating point."""
    return Reciprocal.of()(input)


def inv(x: Any) -> Any:
    """Reciprocal, 1 / x, in the dtype of x."""
    return Inv.of()(x)


def neg(input: Any) -> Any:
    """Negation: -input."""
    return Neg.of()(input)


def positive(input: Any) -> Any:
    """Unary plus: returns `input`."""
    return input


def abs(input: Any) -> Any:
    """Absolute value: |input|."""
    return Abs.of()(input)


def sign(input: Any) -> Any:
    """Sign of each element: -1, 0, or 1."""
    return Sign.of()(input)


def square(input: Any) -> Any:
    """Square: input * input."""
    return Square.of()(input)


def maximum(input: Any, other: Any) -> Any:
    """Elementwise maximum of `input` and `other`."""
    return Maximum.of()(input, other)


def minimum(input: Any, other: Any) -> Any:
    """Elementwise minimum of `input` and `other`."""
    return Minimum.of()(input, other)


def frac(x: Any) -> Any:
    """Fractional part, x - trunc(x), with the sign of x."""
    return sub(x, trunc(x))


def addn(x: Any) -> Any:
    """Sum of all tensors of a tuple or list."""
    return AddN.of()(x)


def accumulate_n(x: Any) -> Any:
    """Sum of all tensors of a tuple or list."""
    return AccumulateNV2.of()(x)


TensorAdd = Add
tensor_add = add
tensor_sub = sub
multiply = tensor_mul = tensor_muls = mul
divide = div
negative = neg
absolute = abs
sgn = sign


def _fraction_dtype(dtype: Any) -> Any:
    return dtype if jnp.issubdtype(dtype, jnp.inexact) else np.float32


def _with_fraction(x: Array) -> Array:
    return jnp.asarray(x).astype(_fraction_dtype(x.dtype))


def _share_of_larger(x: Any, y: Any, dtype: Any) -> Any:
    """The gradient share of the larger element: 1 where x > y, 1/2 where they are equal, else 0."""
    return add(cast(greater(x, y), dtype), mul(cast(equal(x, y), dtype), 0.5))
