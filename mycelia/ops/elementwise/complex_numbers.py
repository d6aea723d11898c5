"""Complex numbers: real and imaginary parts, angle, absolute value, and conjugate."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import DType, complex64, complex128, float32, float64
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import broadcast
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.families import Unary
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.elementwise.comparison import equal

_REAL = {complex64: float32, complex128: float64}
_COMPLEX = {float32: complex64, float64: complex128}


class Real(Unary):
    """Real part of each element."""

    examples = (case("c64[2,3]"), case("f32[2]"), case("c128[]"), case("i32[2]"))

    def result_dtype(self, dtype: DType) -> DType:
        return _REAL.get(dtype, dtype)

    def lower(self, input: Array) -> Array:
        return jnp.real(input)


class Imag(Unary):
    """Imaginary part of each element; 0 for real tensors."""

    examples = (case("c64[2,3]"), case("f32[2]"), case("c128[]"), case("i32[2]"))

    def result_dtype(self, dtype: DType) -> DType:
        return _REAL.get(dtype, dtype)

    def lower(self, input: Array) -> Array:
        is_complex = jnp.issubdtype(input.dtype, jnp.complexfloating)
        return jnp.imag(input) if is_complex else jnp.zeros_like(input)


class Conj(Unary):
    """Complex conjugate of each element; real tensors are returned unchanged."""

    kinds = ("int", "uint", "float", "complex")
    examples = (case("c64[2,3]"), case("f32[2]"), case("i32[]"))

    def lower(self, input: Array) -> Array:
        return jnp.conj(input)


class _OfComplex(Unary, register=False):
    """Base class of operators from complex tensors to real ones."""

    kinds = ("complex",)
    examples = (case("c64[2,3]"), case("c128[]"), case("c64[0,2]"))

    def result_dtype(self, dtype: DType) -> DType:
        return _REAL[dtype]


class Angle(_OfComplex):
    """Angle (argument) of each complex element, from -pi to pi."""

    def lower(self, input: Array) -> Array:
        return jnp.angle(input)


class ComplexAbs(_OfComplex):
    """Absolute value of each complex element, as a real tensor."""

    def lower(self, x: Array) -> Array:
        return jnp.abs(x)


class _FromParts(Op, register=False):
    """Base class of operators that build a complex tensor from two real ones of the same dtype."""

    def infer(self, x: TensorType, y: TensorType) -> TensorType:
        if x.dtype is not y.dtype:
            raise problem(
                TypeError, f"{self.name}: the two tensors differ in dtype", got=f"{x} and {y}"
            )
        if x.dtype not in _COMPLEX:
            raise unsupported_dtype(self.name, x, "float32 or float64 tensors")
        return TensorType(_COMPLEX[x.dtype], broadcast(x.shape, y.shape, op=self.name))


class Complex(_FromParts):
    """Complex tensor from its parts: real + imag * i."""

    examples = (case("f32[2,3]", "f32[3]"), case("f64[]", "f64[]"))

    def lower(self, real: Array, imag: Array) -> Array:
        return lax.complex(*jnp.broadcast_arrays(real, imag))


class Polar(_FromParts):
    """Complex tensor from polar coordinates: abs * exp(angle * i)."""

    examples = (case("f32[2,3]:positive", "f32[3]"), case("f64[]:positive", "f64[]"))

    def lower(self, abs: Array, angle: Array) -> Array:
        abs, angle = jnp.broadcast_arrays(abs, angle)
        return lax.complex(abs * jnp.cos(angle), abs * jnp.sin(angle))


class ViewAsReal(Op):
    """Complex tensor as pairs (real, imaginary) along a new last axis."""

    examples = (case("c64[2,3]"), case("c128[]"))

    def infer(self, input: TensorType) -> TensorType:
        if not input.dtype.is_complex:
            raise unsupported_dtype(self.name, input, "a complex tensor")
        return TensorType(_REAL[input.dtype], (*input.shape, 2))

    def lower(self, input: Array) -> Array:
        return jnp.stack([jnp.real(input), jnp.imag(input)], axis=-1)


def real(input: Any) -> Any:
    """Real part of each element."""
    return Real.of()(input)


def imag(input: Any) -> Any:
    """Imaginary part of each element; 0 for real tensors."""
    return Imag.of()(input)


def conj(input: Any) -> Any:
    """Complex conjugate of each element."""
    return Conj.of()(input)


def angle(input: Any) -> Any:
    """Angle (argument) of each element, from -pi to pi."""
    return Angle.of()(input)


def polar(abs: Any, angle: Any) -> Any:
    """Complex tensor from polar coordinates: abs * exp(angle * i)."""
    return Polar.of()(abs, angle)


def view_as_real(input: Any) -> Any:
    """Complex tensor as pairs (real, imaginary) along a new last axis."""
    return ViewAsReal.of()(input)


def isreal(input: Any) -> Any:
    """Tests whether the imaginary part of each element is 0."""
    return equal(imag(input), 0)
