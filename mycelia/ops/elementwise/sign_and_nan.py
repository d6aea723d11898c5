"""Signs, step functions, adjacent floats, and NaN handling."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import DType, at_least_float
from mycelia._engine.core.errors import wrong_type
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.families import Binary
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.elementwise.arithmetic import abs, add, mul, neg, sub
from mycelia.ops.elementwise.comparison import equal, greater, isnan, less
from mycelia.ops.shapes.reshape import cast, sum_to

_PAIRS = (case("f32[2,3]", "f32[3]"), case("f32[]", "f32[2,1]"), case("f32[0]", "f32[1]"))


class Fmax(Binary):
    """Elementwise maximum that ignores NaN."""

    kinds = ("int", "uint", "float")
    examples = (*_PAIRS, case("i32[2]", "i32[2]"))

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.fmax(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        toward_x = mul(dout, _winner(x, y, greater, dout.dtype))
        return sum_to(toward_x, x.shape), sum_to(sub(dout, toward_x), y.shape)


class Fmin(Binary):
    """Elementwise minimum that ignores NaN."""

    kinds = ("int", "uint", "float")
    examples = (*_PAIRS, case("i32[2]", "i32[2]"))

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.fmin(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        toward_x = mul(dout, _winner(x, y, less, dout.dtype))
        return sum_to(toward_x, x.shape), sum_to(sub(dout, toward_x), y.shape)


class Heaviside(Binary):
    """Heaviside step function: 0 where x < 0, 1 where x > 0, y where x is 0."""

    kinds = ("int", "uint", "float")
    differentiable = False
    examples = (*_PAIRS, case("i32[3]", "i32[]"))

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.where(x == 0, y, (x > 0).astype(x.dtype))


class NextAfter(Binary):
    """Next representable float after x in the direction of y."""

    kinds = ("float",)
    differentiable = False
    examples = (case("f32[2,3]", "f32[3]"), case("f64[]", "f64[2,1]"))

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.nextafter(x, y)


class NanToNum(Op):
    """Replaces NaN with 0 and infinities with the limits of the dtype, or with other values."""

    nan: float | None = None
    posinf: float | None = None
    neginf: float | None = None
    examples = (case("f32[2,3]"), case("f16[2]", nan=1.0, posinf=2.0, neginf=3.0), case("f32[]"))

    def infer(self, x: TensorType) -> TensorType:
        if not x.dtype.is_float:
            raise unsupported_dtype(self.name, x, "a float tensor")
        return x

    def lower(self, x: Array) -> Array:
        nan = 0.0 if self.nan is None else self.nan
        return jnp.nan_to_num(x, nan=nan, posinf=self.posinf, neginf=self.neginf)


def fmax(input: Any, other: Any) -> Any:
    """Elementwise maximum that ignores NaN."""
    return Fmax.of()(input, other)


def fmin(input: Any, other: Any) -> Any:
    """Elementwise minimum that ignores NaN."""
    return Fmin.of()(input, other)


def heaviside(input: Any, values: Any) -> Any:
    """Heaviside step function: 0 where input < 0, 1 where input > 0, `values` where input is 0."""
    return Heaviside.of()(input, values)


def nextafter(input: Any, other: Any) -> Any:
    """Next representable float after `input` in the direction of `other`."""
    return NextAfter.of()(input, other)


def nan_to_num(input: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    """Replaces NaN and infinities. Defaults: 0 for NaN, the limits of the dtype for infinities."""
    return NanToNum.of(nan, posinf, neginf)(input)


def signbit(input: Any) -> Any:
    """Tests whether each element is negative."""
    return less(input, 0)


def copysign(x: Any, other: Any) -> Any:
    """Magnitude of x with the sign of `other`. Integers are converted to floating point."""
    if not isinstance(x, TensorProtocol):
        raise wrong_type("copysign", "x", x, "Tensor")
    if x.dtype.is_bool or x.dtype.is_complex:
        raise unsupported_dtype("copysign", TensorType(x.dtype, x.shape), "real numbers")
    size = abs(cast(x, at_least_float(x.dtype)))
    if not isinstance(other, TensorProtocol):
        return neg(size) if other < 0 else size
    return mul(size, sub(1.0, mul(cast(less(other, 0), size.dtype), 2.0)))


def _winner(x: Any, y: Any, beats: Any, dtype: DType) -> Any:
    """The gradient share of x: 1 where x wins or y is NaN, 1/2 where they are equal, else 0."""
    won = add(cast(beats(x, y), dtype), cast(isnan(y), dtype))
    return add(won, mul(cast(equal(x, y), dtype), 0.5))
