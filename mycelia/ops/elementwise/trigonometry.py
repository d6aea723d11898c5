"""Trigonometric and hyperbolic functions, their inverses, and degree conversion."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core.dtype import DType, at_least_float
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.families import Binary, FloatUnary, Unary
from mycelia._engine.operators.operator import unsupported_dtype
from mycelia.ops.elementwise.arithmetic import add, div, mul, neg, reciprocal, square, sub
from mycelia.ops.elementwise.exponential import rsqrt
from mycelia.ops.shapes.reshape import sum_to

_ANY = (case("f32[2,3]"), case("f32[]"), case("f16[0,2]"), case("bf16[2]", differentiate=False))
_UNIT = (case("f32[2,3]:unit"), case("f32[]:unit"), case("f16[0,2]"))
_PLANE = (
    case("f32[2,3]:spread", "f32[3]:spread"),
    case("f32[]:positive", "f32[2,1]:spread"),
    case("f16[0]", "f16[1]"),
)


class Sin(FloatUnary):
    """Sine, element by element, in radians."""

    examples = (*_ANY, case("c64[2]"))

    def lower(self, input: Array) -> Array:
        return jnp.sin(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, cos(input)),)


class Cos(FloatUnary):
    """Cosine, element by element, in radians."""

    examples = (*_ANY, case("c64[2]"))

    def lower(self, input: Array) -> Array:
        return jnp.cos(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (neg(mul(dout, sin(input))),)


class Tan(FloatUnary):
    """Tangent, element by element, in radians."""

    examples = _ANY

    def lower(self, input: Array) -> Array:
        return jnp.tan(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, add(square(out), 1.0)),)


class Asin(FloatUnary):
    """Inverse sine, element by element, in radians."""

    examples = _UNIT

    def lower(self, input: Array) -> Array:
        return jnp.arcsin(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, rsqrt(sub(1.0, square(input)))),)


class ACos(FloatUnary):
    """Inverse cosine, element by element, in radians."""

    examples = _UNIT

    def lower(self, input: Array) -> Array:
        return jnp.arccos(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (neg(mul(dout, rsqrt(sub(1.0, square(input))))),)


class Atan(FloatUnary):
    """Inverse tangent, element by element, in radians."""

    examples = _ANY

    def lower(self, input: Array) -> Array:
        return jnp.arctan(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (div(dout, add(square(input), 1.0)),)


class Atan2(Binary):
    """Inverse tangent of x / y by quadrant, in radians from -pi to pi."""

    kinds = ("float",)
    examples = _PLANE

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.arctan2(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        scaled = mul(dout, reciprocal(add(square(x), square(y))))
        return sum_to(mul(scaled, y), x.shape), sum_to(neg(mul(scaled, x)), y.shape)


class Hypot(Binary):
    """Hypotenuse: sqrt(x ** 2 + y ** 2)."""

    kinds = ("float",)
    examples = _PLANE

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.hypot(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        scaled = div(dout, out)
        return sum_to(mul(scaled, x), x.shape), sum_to(mul(scaled, y), y.shape)


class Sinh(FloatUnary):
    """Hyperbolic sine, element by element."""

    examples = _ANY

    def lower(self, input: Array) -> Array:
        return jnp.sinh(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, cosh(input)),)


class Cosh(FloatUnary):
    """Hyperbolic cosine, element by element."""

    examples = _ANY

    def lower(self, input: Array) -> Array:
        return jnp.cosh(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, sinh(input)),)


class Asinh(FloatUnary):
    """Inverse hyperbolic sine, element by element."""

    examples = _ANY

    def lower(self, input: Array) -> Array:
        return jnp.arcsinh(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, rsqrt(add(square(input), 1.0))),)


class Acosh(FloatUnary):
    """Inverse hyperbolic cosine, element by element."""

    examples = (case("f32[2,3]:positive", differentiate=False), case("f32[3,0]"))

    def lower(self, input: Array) -> Array:
        return jnp.arccosh(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, mul(rsqrt(sub(input, 1.0)), rsqrt(add(input, 1.0)))),)


class Atanh(FloatUnary):
    """Inverse hyperbolic tangent, element by element."""

    examples = _UNIT

    def lower(self, input: Array) -> Array:
        return jnp.arctanh(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (div(dout, sub(1.0, square(input))),)


class Sinc(Unary):
    """Normalized sinc function: sin(pi x) / (pi x), and 1 where x is 0."""

    examples = (case("f32[2,3]:spread"), case("f32[]:positive"), case("i32[2]"), case("f16[0]"))

    def result_dtype(self, dtype: DType) -> DType:
        return at_least_float(dtype)

    def lower(self, input: Array) -> Array:
        inexact = jnp.issubdtype(input.dtype, jnp.inexact)
        return jnp.sinc(jnp.asarray(input).astype(input.dtype if inexact else jnp.float32))


def sin(input: Any) -> Any:
    """Sine, element by element, in radians."""
    return Sin.of()(input)


def cos(input: Any) -> Any:
    """Cosine, element by element, in radians."""
    return Cos.of()(input)


def tan(input: Any) -> Any:
    """Tangent, element by element, in radians."""
    return Tan.of()(input)


def asin(input: Any) -> Any:
    """Inverse sine, element by element, in radians."""
    return Asin.of()(input)


def arcsin(x: Any) -> Any:
    """Inverse sine, element by element, in radians."""
    return Asin.of()(x)


def acos(input: Any) -> Any:
    """Inverse cosine, element by element, in radians."""
    return ACos.of()(input)


def atan(input: Any) -> Any:
    """Inverse tangent, element by element, in radians."""
    return Atan.of()(input)


def atan2(input: Any, other: Any) -> Any:
    """Inverse tangent of input / other by quadrant, in radians from -pi to pi."""
    return Atan2.of()(input, other)


def hypot(input: Any, other: Any) -> Any:
    """Hypotenuse: sqrt(input ** 2 + other ** 2)."""
    return Hypot.of()(input, other)


def sinh(input: Any) -> Any:
    """Hyperbolic sine, element by element."""
    return Sinh.of()(input)


def cosh(input: Any) -> Any:
    """Hyperbolic cosine, element by element."""
    return Cosh.of()(input)


def asinh(input: Any) -> Any:
    """Inverse hyperbolic sine, element by element."""
    return Asinh.of()(input)


def acosh(input: Any) -> Any:
    """Inverse hyperbolic cosine, element by element."""
    return Acosh.of()(input)


def atanh(input: Any) -> Any:
    """Inverse hyperbolic tangent, element by element."""
    return Atanh.of()(input)


def sinc(input: Any) -> Any:
    """Normalized sinc function: sin(pi x) / (pi x), and 1 at 0."""
    return Sinc.of()(input)


def deg2rad(x: Any) -> Any:
    """Converts degrees to radians."""
    check_tensors("deg2rad", x=x)
    return mul(_angle("deg2rad", x), math.pi / 180.0)


def rad2deg(x: Any) -> Any:
    """Converts radians to degrees."""
    check_tensors("rad2deg", x=x)
    return mul(_angle("rad2deg", x), 180.0 / math.pi)


arccos = acos
arctan = atan
arctan2 = atan2
arcsinh = asinh
arccosh = acosh
arctanh = atanh


def _angle(owner: str, x: Any) -> Any:
    if not x.dtype.is_float:
        raise unsupported_dtype(owner, TensorType(x.dtype, x.shape), "a float tensor")
    return x
