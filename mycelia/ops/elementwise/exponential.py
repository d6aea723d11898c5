"""Exponentials, logarithms, and square roots."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core.dtype import DType, at_least_float
from mycelia._engine.ir.example import case
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.families import Binary, FloatUnary, Unary
from mycelia.ops.elementwise.arithmetic import add, div, mul

_ANY = (case("f32[2,3]"), case("f32[]"), case("f16[0,2]"), case("bf16[2]", differentiate=False))
_POSITIVE = (
    case("f32[2,3]:positive"),
    case("f32[]:positive"),
    case("f16[0,2]"),
    case("bf16[2]:positive", differentiate=False),
)


class Exp(FloatUnary):
    """Exponential, element by element."""

    examples = (*_ANY, case("c64[2]"))

    def lower(self, input: Array) -> Array:
        return jnp.exp(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, out),)


class Expm1(FloatUnary):
    """exp(x) - 1, accurate for small x."""

    examples = _ANY

    def lower(self, input: Array) -> Array:
        return jnp.expm1(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, add(out, 1.0)),)


class Log(FloatUnary):
    """Natural logarithm, element by element."""

    examples = (*_POSITIVE, case("c64[2]"))

    def lower(self, input: Array) -> Array:
        return jnp.log(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (div(dout, input),)


class Log1p(FloatUnary):
    """log(1 + x), accurate for small x."""

    examples = _POSITIVE

    def lower(self, input: Array) -> Array:
        return jnp.log1p(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (div(dout, add(input, 1.0)),)


class Log2(FloatUnary):
    """Base-2 logarithm, element by element."""

    examples = _POSITIVE

    def lower(self, input: Array) -> Array:
        return jnp.log2(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (div(dout, mul(input, math.log(2.0))),)


class Log10(FloatUnary):
    """Base-10 logarithm, element by element."""

    examples = _POSITIVE

    def lower(self, input: Array) -> Array:
        return jnp.log10(input)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (div(dout, mul(input, math.log(10.0))),)


class Sqrt(Unary):
    """Square root, element by element. Integers are converted to floating point."""

    examples = (*_POSITIVE, case("i32[2]:<9"), case("bool[2]"))

    def result_dtype(self, dtype: DType) -> DType:
        return at_least_float(dtype)

    def lower(self, x: Array) -> Array:
        inexact = jnp.issubdtype(x.dtype, jnp.inexact)
        return jnp.sqrt(jnp.asarray(x).astype(x.dtype if inexact else jnp.float32))

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (div(dout, mul(out, 2.0)),)


class Rsqrt(FloatUnary):
    """Reciprocal square root: 1 / sqrt(x)."""

    examples = _POSITIVE

    def lower(self, input: Array) -> Array:
        return lax.rsqrt(jnp.asarray(input))

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(mul(dout, -0.5), mul(out, mul(out, out))),)


class LogAddExp(Binary):
    """log(exp(x) + exp(y)), computed without overflow."""

    kinds = ("float",)
    examples = (case("f32[2,3]", "f32[3]"), case("f32[]", "f32[2,1]"), case("f16[0]", "f16[1]"))

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.logaddexp(x, y)


class LogAddExp2(Binary):
    """log2(2 ** x + 2 ** y), computed without overflow."""

    kinds = ("float",)
    examples = (case("f32[2,3]", "f32[3]"), case("f32[]", "f32[2,1]"), case("f16[0]", "f16[1]"))

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.logaddexp2(x, y)


def exp(input: Any) -> Any:
    """Exponential, element by element."""
    return Exp.of()(input)


def expm1(input: Any) -> Any:
    """exp(input) - 1, accurate for small values."""
    return Expm1.of()(input)


def log(input: Any) -> Any:
    """Natural logarithm, element by element."""
    return Log.of()(input)


def log1p(input: Any) -> Any:
    """log(1 + input), accurate for small values."""
    return Log1p.of()(input)


def log2(input: Any) -> Any:
    """Base-2 logarithm, element by element."""
    return Log2.of()(input)


def log10(input: Any) -> Any:
    """Base-10 logarithm, element by element."""
    return Log10.of()(input)


def sqrt(x: Any) -> Any:
    """Square root, element by element. Integers are converted to floating point."""
    return Sqrt.of()(x)


def rsqrt(input: Any) -> Any:
    """Reciprocal square root: 1 / sqrt(input)."""
    return Rsqrt.of()(input)


def logaddexp(input: Any, other: Any) -> Any:
    """log(exp(input) + exp(other)), computed without overflow."""
    return LogAddExp.of()(input, other)


def logaddexp2(input: Any, other: Any) -> Any:
    """log2(2 ** input + 2 ** other), computed without overflow."""
    return LogAddExp2.of()(input, other)


tensor_exp = exp
tensor_expm1 = expm1
