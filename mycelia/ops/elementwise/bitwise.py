"""Bitwise operators on integers. They have no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.dtype import DType, uint8
from mycelia._engine.ir.example import case
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.families import Binary, Unary

_PAIRS = (
    case("i32[2,3]", "i32[3]"),
    case("u8[2,1]", "u8[3]"),
    case("bool[2]", "bool[]"),
    case("i64[0]", "i64[1]"),
)
_SHIFTS = (case("i32[2,3]", "i32[3]:<5"), case("u8[2,1]", "u8[]:<8"), case("i64[0]", "i64[1]:<8"))


class _Bits(Binary, register=False):
    """Base class of binary operators on integers."""

    kinds = ("bool", "int", "uint")
    differentiable = False
    examples = _PAIRS


class BitwiseAnd(_Bits):
    """Bitwise AND: x & y."""

    host = staticmethod(np.bitwise_and)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.bitwise_and(x, y)


class BitwiseOr(_Bits):
    """Bitwise OR: x | y."""

    host = staticmethod(np.bitwise_or)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.bitwise_or(x, y)


class BitwiseXor(_Bits):
    """Bitwise XOR: x ^ y."""

    host = staticmethod(np.bitwise_xor)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.bitwise_xor(x, y)


class _Shift(Binary, register=False):
    """Base class of bit shifts of x by y."""

    kinds = ("int", "uint")
    differentiable = False
    examples = _SHIFTS


class LeftShift(_Shift):
    """Left bit shift: x << y, with y modulo the bit width of x."""

    def lower(self, x: Array, y: Array) -> Array:
        x, y = jnp.broadcast_arrays(x, y)
        return lax.shift_left(x, _places(y))


class RightShift(_Shift):
    """Arithmetic right bit shift: x >> y, with y modulo the bit width of x."""

    def lower(self, x: Array, y: Array) -> Array:
        x, y = jnp.broadcast_arrays(x, y)
        return jnp.right_shift(x, _places(y))


class Invert(Unary):
    """Bitwise NOT: ~x."""

    kinds = ("int", "uint")
    differentiable = False
    examples = (case("i32[2,3]"), case("u8[]"), case("i64[0]"))

    def lower(self, x: Array) -> Array:
        return jnp.invert(x)


class PopulationCount(Unary):
    """Number of set bits of each element."""

    kinds = ("int", "uint")
    differentiable = False
    examples = (case("i32[2,3]"), case("u8[]"), case("i64[0]"))

    def result_dtype(self, dtype: DType) -> DType:
        return uint8

    def lower(self, input: Array) -> Array:
        return lax.population_count(jnp.asarray(input)).astype(np.uint8)


def bitwise_and(input: Any, other: Any) -> Any:
    """Bitwise AND: input & other."""
    return BitwiseAnd.of()(input, other)


def bitwise_or(input: Any, other: Any) -> Any:
    """Bitwise OR: input | other."""
    return BitwiseOr.of()(input, other)


def bitwise_xor(input: Any, other: Any) -> Any:
    """Bitwise XOR: input ^ other."""
    return BitwiseXor.of()(input, other)


def bitwise_left_shift(input: Any, other: Any) -> Any:
    """Left bit shift: input << other."""
    return LeftShift.of()(input, other)


def bitwise_right_shift(input: Any, other: Any) -> Any:
    """Arithmetic right bit shift: input >> other."""
    return RightShift.of()(input, other)


def invert(x: Any) -> Any:
    """Bitwise NOT: ~x."""
    return Invert.of()(x)


def population_count(input_x: Any) -> Any:
    """Number of set bits of each element."""
    return PopulationCount.of()(input_x)


def _places(y: Array) -> Array:
    return jnp.bitwise_and(y, jnp.asarray(jnp.iinfo(y.dtype).bits - 1, y.dtype))
