"""Arithmetic: the operators behind + - * / // % **, and other exact elementwise functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.core.dtype import DType, at_least_float
from mycelia.ir.example import case
from mycelia.ir.types import TensorType
from mycelia.ops.engine import Array, jnp, lax
from mycelia.ops.family import Binary, Unary
from mycelia.ops.op import Op
from mycelia.ops.shaping import cast, sum_to

PAIRS = (case("f32[2,3]", "f32[2,3]"), case("f32[2,1]", "f32[3]"), case("f32[0,3]", "f32[]"))


class Add(Binary):
    """x + y."""

    examples = (*PAIRS, case("i64[2]", "i64[2]"), case("bool[2]", "bool[2]"))
    host = staticmethod(np.add)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.add(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return sum_to(dout, x.shape), sum_to(dout, y.shape)


class Sub(Binary):
    """x - y."""

    kinds = ("int", "uint", "float", "complex")
    examples = (*PAIRS, case("i32[2]", "i32[2]"))
    host = staticmethod(np.subtract)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.subtract(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return sum_to(dout, x.shape), sum_to(neg(dout), y.shape)


class Mul(Binary):
    """x * y."""

    examples = (*PAIRS, case("i32[2]", "i32[2]"), case("bool[2]", "bool[2]"))
    host = staticmethod(np.multiply)

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.multiply(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return sum_to(mul(dout, y), x.shape), sum_to(mul(dout, x), y.shape)


class RealDiv(Binary):
    """x / y, never an integer."""

    examples = (case("f32[2,3]", "f32[3]:positive"), case("i32[2]", "i32[2]:<3"))

    def result_dtype(self, dtype: DType) -> DType:
        return at_least_float(dtype)

    def lower(self, x: Array, y: Array) -> Array:
        wide = self.result_dtype_of(x)
        return jnp.true_divide(jnp.asarray(x).astype(wide), jnp.asarray(y).astype(wide))

    def host(self, x: Any, y: Any) -> Any:
        wide = self.result_dtype_of(x)
        return np.true_divide(x.astype(wide, copy=False), y.astype(wide, copy=False))

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        scaled = div(dout, y)
        return sum_to(scaled, x.shape), sum_to(neg(mul(scaled, out)), y.shape)

    @staticmethod
    def result_dtype_of(x: Any) -> Any:
        return x.dtype if jnp.issubdtype(x.dtype, jnp.inexact) else np.float32


class Div(RealDiv):
    """x / y, never an integer; the newer name of RealDiv."""


class Neg(Unary):
    """-x."""

    kinds = ("int", "uint", "float", "complex")
    examples = (case("f32[2,3]"), case("i32[2]"), case("f32[]"))
    host = staticmethod(np.negative)

    def lower(self, x: Array) -> Array:
        return jnp.negative(x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (neg(dout),)


class AddN(Op):
    """The sum of all tensors of a tuple."""

    promotes = ("x",)
    examples = (case(("f32[2,3]", "f32[2,3]", "f32[2,3]")), case(("i32[2]", "i32[2]")))

    def infer(self, x: tuple[TensorType, ...]) -> TensorType:
        return x[0]

    def lower(self, x: tuple[Array, ...]) -> Array:
        total = x[0]
        for other in x[1:]:
            total = lax.add(total, other)
        return total

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (tuple(dout for _ in x),)


def add(input: Any, other: Any) -> Any:
    """input + other, broadcasting."""
    return Add.of()(input, other)


def sub(input: Any, other: Any) -> Any:
    """input - other, broadcasting."""
    return Sub.of()(input, other)


def mul(input: Any, other: Any) -> Any:
    """input * other, broadcasting."""
    return Mul.of()(input, other)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """input / other; `rounding_mode` 'floor' or 'trunc' rounds the quotient."""
    return RealDiv.of()(input, other)


def neg(input: Any) -> Any:
    """-input."""
    return Neg.of()(input)


def addn(x: Any) -> Any:
    """The sum of all tensors of a tuple."""
    return AddN.of()(x)
