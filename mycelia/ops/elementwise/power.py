"""Powers and x * log(y)."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import DType, complex128, float32, float64
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.families import Binary
from mycelia.ops.elementwise.arithmetic import add, mul, square, sub, xdivy
from mycelia.ops.elementwise.comparison import equal, not_equal
from mycelia.ops.elementwise.exponential import log
from mycelia.ops.shapes.reshape import cast, sum_to


class Pow(Binary):
    """x to the power y, with broadcasting; integers stay integers."""

    kinds = ("int", "uint", "float", "complex")
    integer_gradients = False  # the gradient of the exponent contains a logarithm
    examples = (
        case("f32[2,3]:positive", "f32[3]"),
        case("f32[2,1]:positive", "f32[]"),
        case("i32[2,1]", "i32[3]"),
        case("u8[3]", "u8[]:<3"),
        case("f16[0]", "f16[1]"),
    )

    def lower(self, x: Array, y: Array) -> Array:
        if jnp.issubdtype(x.dtype, jnp.inexact):
            return jnp.power(x, y)
        return _integer_power(x, y)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        below = sub(y, cast(not_equal(y, 0), y.dtype))  # y - 1, and 0 where y is 0
        toward_x = mul(dout, mul(y, pow(x, below)))
        base = add(x, cast(equal(x, 0), x.dtype))  # 1 where x is 0, so that its logarithm is 0
        fractions = base if base.dtype.is_inexact else cast(base, float32)
        toward_y = mul(dout, mul(out, log(fractions)))
        return sum_to(toward_x, x.shape), sum_to(toward_y, y.shape)


def _integer_power(x: Array, y: Array) -> Array:
    """Integer powers; with a negative exponent the result is 0 unless x is 1 or -1."""
    x, y = jnp.broadcast_arrays(x, y)
    if jnp.issubdtype(x.dtype, jnp.unsignedinteger):
        return jnp.power(x, y)
    power = jnp.power(x, jnp.abs(y))
    return jnp.where((y < 0) & (jnp.abs(x) != 1), jnp.zeros_like(power), power)


class Xlogy(Binary):
    """x * log(y), and 0 where x is 0."""

    kinds = ("float", "complex")
    examples = (
        case("f32[2,3]:spread", "f32[3]:positive"),
        case("f32[2,1]:spread", "f32[]:positive"),
        case("f32[3]:zeros", "f32[3]:zeros", differentiate=False),
    )

    def lower(self, x: Array, y: Array) -> Array:
        x, y = jnp.broadcast_arrays(x, y)
        zero = x == 0
        product = x * jnp.log(jnp.where(zero, jnp.ones_like(y), y))
        return jnp.where(zero, jnp.zeros_like(product), product)

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        logarithm = Xlogy.of()(cast(not_equal(x, 0), x.dtype), y)
        return (
            sum_to(mul(dout, logarithm), x.shape),
            sum_to(mul(dout, xdivy(x, y)), y.shape),
        )


def pow(input: Any, exponent: Any) -> Any:
    """`input` to the power `exponent`, with broadcasting."""
    if type(exponent) is int and exponent == 2 and _has_square(input):
        return square(input)
    return Pow.of()(input, exponent)


def float_power(input: Any, exponent: Any) -> Any:
    """`input` to the power `exponent`, computed in float64 or complex128."""
    if not isinstance(input, TensorProtocol) and not isinstance(exponent, TensorProtocol):
        raise problem(
            TypeError,
            "float_power: neither argument is a Tensor",
            got=f"{type(input).__name__} and {type(exponent).__name__}",
        )
    wide = complex128 if _is_complex(input) or _is_complex(exponent) else float64
    return Pow.of()(_widened(input, wide), _widened(exponent, wide))


def exp2(input: Any) -> Any:
    """2 to the power `input`. Integers are converted to floating point."""
    return Pow.of()(2.0, input)


def ldexp(x: Any, other: Any) -> Any:
    """x * 2 ** other, element by element."""
    return mul(x, Pow.of()(2.0, other) if isinstance(other, TensorProtocol) else 2.0**other)


def xlogy(input: Any, other: Any) -> Any:
    """input * log(other), and 0 where input is 0.

    Python numbers are converted to floating point.
    """
    first = input if isinstance(input, TensorProtocol) else float(input)
    second = other if isinstance(other, TensorProtocol) else float(other)
    return Xlogy.of()(first, second)


pows = tensor_pow = pow


def _has_square(value: Any) -> bool:
    return isinstance(value, TensorProtocol) and not value.dtype.is_bool


def _is_complex(value: Any) -> bool:
    return (
        value.dtype.is_complex if isinstance(value, TensorProtocol) else isinstance(value, complex)
    )


def _widened(value: Any, dtype: DType) -> Any:
    return cast(value, dtype) if isinstance(value, TensorProtocol) else value
