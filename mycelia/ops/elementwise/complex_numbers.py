"""Complex numbers: made from parts, taken apart, conjugated."""

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
    """The real parts."""

    examples = (case("c64[2,3]"), case("f32[2]"), case("c128[]"), case("i32[2]"))

    def result_dtype(self, dtype: DType) -> DType:
        return _REAL.get(dtype, dtype)

    def lower(self, input: Array) -> Array:
        return jnp.real(input)


class Imag(Unary):
    """The imaginary parts; zeros for real numbers."""

    examples = (case("c64[2,3]"), case("f32[2]"), case("c128[]"), case("i32[2]"))

    def result_dtype(self, dtype: DType) -> DType:
        return _REAL.get(dtype, dtype)

    def lower(self, input: Array) -> Array:
        is_complex = jnp.issubdtype(input.dtype, jnp.complexfloating)
        return jnp.imag(input) if is_complex else jnp.zeros_like(input)


class Conj(Unary):
    """The complex conjugates; real numbers stay as they are."""

    kinds = ("int", "uint", "float", "complex")
    examples = (case("c64[2,3]"), case("f32[2]"), case("i32[]"))

    def lower(self, input: Array) -> Array:
        return jnp.conj(input)


class _OfComplex(Unary, register=False):
    """A real number for each complex one."""

    kinds = ("complex",)
    examples = (case("c64[2,3]"), case("c128[]"), case("c64[0,2]"))

    def result_dtype(self, dtype: DType) -> DType:
        return _REAL[dtype]


class Angle(_OfComplex):
    """The angle of each complex number, from -pi to pi."""

    def lower(self, input: Array) -> Array:
        return jnp.angle(input)


class ComplexAbs(_OfComplex):
    """The absolute value of each complex number, as a real number."""

    def lower(self, x: Array) -> Array:
        return jnp.abs(x)


class _FromParts(Op, register=False):
    """Complex numbers from two real tensors of one dtype."""

    def infer(self, x: TensorType, y: TensorType) -> TensorType:
        if x.dtype is not y.dtype:
            raise problem(
                TypeError, f"{self.name}: the two parts differ in dtype", got=f"{x} and {y}"
            )
        if x.dtype not in _COMPLEX:
            raise unsupported_dtype(self.name, x, "float32 or float64 tensors")
        return TensorType(_COMPLEX[x.dtype], broadcast(x.shape, y.shape, op=self.name))


class Complex(_FromParts):
    """real + imag * i."""

    examples = (case("f32[2,3]", "f32[3]"), case("f64[]", "f64[]"))

    def lower(self, real: Array, imag: Array) -> Array:
        return lax.complex(*jnp.broadcast_arrays(real, imag))


class Polar(_FromParts):
    """The complex numbers with the given absolute values and angles."""

    examples = (case("f32[2,3]:positive", "f32[3]"), case("f64[]:positive", "f64[]"))

    def lower(self, abs: Array, angle: Array) -> Array:
        abs, angle = jnp.broadcast_arrays(abs, angle)
        return lax.complex(abs * jnp.cos(angle), abs * jnp.sin(angle))


class ViewAsReal(Op):
    """Complex numbers as pairs of real ones along a new last axis."""

    examples = (case("c64[2,3]"), case("c128[]"))

    def infer(self, input: TensorType) -> TensorType:
        if not input.dtype.is_complex:
            raise unsupported_dtype(self.name, input, "a complex tensor")
        return TensorType(_REAL[input.dtype], (*input.shape, 2))

    def lower(self, input: Array) -> Array:
        return jnp.stack([jnp.real(input), jnp.imag(input)], axis=-1)


def real(input: Any) -> Any:
    """The real parts of `input`."""
    return Real.of()(input)


def imag(input: Any) -> Any:
    """The imaginary parts of `input`."""
    return Imag.of()(input)


def conj(input: Any) -> Any:
    """The complex conjugates of `input`."""
    return Conj.of()(input)


def angle(input: Any) -> Any:
    """The angles of complex numbers."""
    return Angle.of()(input)


def polar(abs: Any, angle: Any) -> Any:
    """Complex numbers from absolute values and angles."""
    return Polar.of()(abs, angle)


def view_as_real(input: Any) -> Any:
    """Complex numbers as pairs of real ones along a new last axis."""
    return ViewAsReal.of()(input)


def isreal(input: Any) -> Any:
    """Whether each element has no imaginary part."""
    return equal(imag(input), 0)
