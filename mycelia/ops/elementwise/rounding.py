"""Rounding and integer division. These operators have no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_int
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.families import Binary, Unary
from mycelia._engine.operators.numpy_kernels import refusing

_NUMBERS = (case("f32[2,3]"), case("f32[]"), case("f64[0,2]"), case("bf16[3]"))
_QUOTIENTS = (
    case("f32[2,3]", "f32[3]:spread"),
    case("i32[2,1]", "i32[3]"),
    case("u64[3]", "u64[]:<3"),
    case("f16[0,2]", "f16[2]"),
)


class Floor(Unary):
    """Floor: the largest integer that is at most x."""

    kinds = ("float",)
    differentiable = False
    examples = _NUMBERS
    host = refusing("biuc", np.floor)

    def lower(self, input: Array) -> Array:
        return jnp.floor(input)


class Ceil(Unary):
    """Ceiling: the smallest integer that is at least x."""

    kinds = ("float",)
    differentiable = False
    examples = _NUMBERS
    host = refusing("biuc", np.ceil)

    def lower(self, input: Array) -> Array:
        return jnp.ceil(input)


class Rint(Unary):
    """Rounds to the nearest integer; ties go to the even one."""

    kinds = ("float",)
    differentiable = False
    examples = _NUMBERS
    host = refusing("biuc", np.rint)

    def lower(self, input: Array) -> Array:
        return jnp.rint(input)


class Trunc(Unary):
    """Truncation: drops the fractional part of x."""

    kinds = ("bool", "int", "uint", "float")
    differentiable = False
    examples = (*_NUMBERS, case("i32[2]"), case("bool[2]"))

    def lower(self, input: Array) -> Array:
        return jnp.trunc(input) if jnp.issubdtype(input.dtype, jnp.floating) else input


class Round(Unary):
    """Rounds to `decimals` decimal places (negative: tens, hundreds); ties go to even."""

    kinds = ("int", "float")
    static = ("decimals",)
    differentiable = False
    examples = (
        case("f32[2,3]", 0),
        case("f32[3]", 2),
        case("i32[3]", -1),
        case("i64[0]", 1),
        case("bf16[]", 0),
    )

    def infer(self, input: TensorType, decimals: Any = 0) -> TensorType:
        check_int(self.name, "decimals", decimals)
        return super().infer(input)

    def lower(self, input: Array, decimals: int = 0) -> Array:
        if jnp.issubdtype(input.dtype, jnp.floating):
            return jnp.round(input, decimals)
        return input if decimals >= 0 else _round_integers(input, 10**-decimals)


def _round_integers(x: Array, unit: int) -> Array:
    """Integers rounded to the nearest multiple of `unit`; ties go to the even multiple."""
    quotient = jnp.floor_divide(x, unit)
    twice = 2 * (x - quotient * unit)
    up = (twice > unit) | ((twice == unit) & (quotient % 2 == 1))
    return (quotient + up.astype(x.dtype)) * unit


class FloorDiv(Binary):
    """Floor division: floor(x / y)."""

    kinds = ("int", "uint", "float")
    differentiable = False
    examples = _QUOTIENTS

    def lower(self, x: Array, y: Array) -> Array:
        if jnp.issubdtype(x.dtype, jnp.floating):
            return jnp.floor(jnp.divide(x, y))
        return integer_quotient(x, y, jnp.floor_divide)


class TruncateDiv(Binary):
    """Truncated division: trunc(x / y)."""

    kinds = ("int", "uint", "float")
    differentiable = False
    examples = _QUOTIENTS

    def lower(self, x: Array, y: Array) -> Array:
        if jnp.issubdtype(x.dtype, jnp.floating):
            return jnp.trunc(jnp.divide(x, y))
        return integer_quotient(x, y, lax.div)


def integer_quotient(x: Array, y: Array, divide: Any) -> Array:
    """`divide` for integers; x / 0 is the extreme value of the dtype with the sign of x."""
    x, y = jnp.broadcast_arrays(x, y)
    zero = y == 0
    limits = jnp.iinfo(x.dtype)
    low, high = np.asarray(limits.min, x.dtype), np.asarray(limits.max, x.dtype)
    extreme = jnp.where(x > 0, high, jnp.where(x < 0, low, jnp.zeros_like(x)))
    return jnp.where(zero, extreme, divide(x, jnp.where(zero, jnp.ones_like(y), y)))


def floor(input: Any) -> Any:
    """Floor: the largest integer that is at most `input`, element by element."""
    return Floor.of()(input)


def ceil(input: Any) -> Any:
    """Ceiling: the smallest integer that is at least `input`, element by element."""
    return Ceil.of()(input)


def round(input: Any, *, decimals: int = 0) -> Any:
    """Rounds to `decimals` decimal places; ties go to even."""
    return Round.of()(input, decimals)


def trunc(input: Any) -> Any:
    """Truncation: drops the fractional part of each element."""
    return Trunc.of()(input)


def floor_div(x: Any, y: Any) -> Any:
    """Floor division: floor(x / y)."""
    return FloorDiv.of()(x, y)


def floor_divide(input: Any, other: Any) -> Any:
    """Floor division: floor(input / other)."""
    return FloorDiv.of()(input, other)


def truncate_div(x: Any, y: Any) -> Any:
    """Truncated division: trunc(x / y)."""
    return TruncateDiv.of()(x, y)


floordiv = tensor_floordiv = floor_divide
