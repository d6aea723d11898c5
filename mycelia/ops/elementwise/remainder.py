"""Remainders, greatest common divisors, and least common multiples."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.families import Binary
from mycelia.ops.elementwise.arithmetic import mul, neg
from mycelia.ops.elementwise.rounding import floor_div, truncate_div
from mycelia.ops.shapes.reshape import sum_to

_EXAMPLES = (
    case("f32[2,3]:spread", "f32[3]:spread"),
    case("f32[2,1]:spread", "f32[]:positive"),
    case("i32[2,1]", "i32[3]"),
    case("f16[0]", "f16[1]"),
)


class _FloorRemainder(Binary, register=False):
    """Base class of floored remainders, with the sign of y: x - y * floor(x / y)."""

    kinds = ("int", "uint", "float")
    examples = _EXAMPLES

    def lower(self, x: Array, y: Array) -> Array:
        if jnp.issubdtype(x.dtype, jnp.floating):
            return jnp.remainder(x, y)
        return self.of_integers(*jnp.broadcast_arrays(x, y))

    def of_integers(self, x: Array, y: Array) -> Array:
        return _by_nonzero(x, y, jnp.remainder, self.by_zero(x))

    def by_zero(self, x: Array) -> Array:
        """The remainder of integers that are divided by zero."""
        return x

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        toward_y = neg(mul(dout, floor_div(x, y)))
        return sum_to(dout, x.shape), sum_to(toward_y, y.shape)


class _TruncateRemainder(Binary, register=False):
    """Base class of truncated remainders, with the sign of x: x - y * trunc(x / y)."""

    kinds = ("int", "uint", "float")
    examples = _EXAMPLES

    def lower(self, x: Array, y: Array) -> Array:
        x, y = jnp.broadcast_arrays(x, y)
        if jnp.issubdtype(x.dtype, jnp.floating):
            return lax.rem(x, y)
        return _by_nonzero(x, y, lax.rem, self.by_zero(x))

    def by_zero(self, x: Array) -> Array:
        """The remainder of integers that are divided by zero."""
        return x

    def grad(self, x: Any, y: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        toward_y = neg(mul(dout, truncate_div(x, y)))
        return sum_to(dout, x.shape), sum_to(toward_y, y.shape)


class FloorMod(_FloorRemainder):
    """Floored remainder of x / y, with the sign of y."""

    def by_zero(self, x: Array) -> Array:
        return jnp.full_like(x, jnp.iinfo(x.dtype).min)


class Remainder(_FloorRemainder):
    """Floored remainder of x / y, with the sign of y. For integers, the remainder of x / 0 is x."""


class Mod(_TruncateRemainder):
    """Truncated remainder of x / y, with the sign of x."""

    def by_zero(self, x: Array) -> Array:
        return jnp.where(x == 0, jnp.zeros_like(x), jnp.iinfo(x.dtype).min)


class TruncateMod(_TruncateRemainder):
    """Truncated remainder of x / y, with the sign of x.

    For integers, the remainder of x / 0 is 0.
    """

    def by_zero(self, x: Array) -> Array:
        return jnp.zeros_like(x)


class Fmod(_TruncateRemainder):
    """Truncated remainder of x / y, with the sign of x.

    For integers, the remainder of x / 0 is x.
    """


class Gcd(Binary):
    """Greatest common divisor of integers, element by element."""

    kinds = ("int",)
    differentiable = False
    examples = (case("i32[2,3]", "i32[3]"), case("i64[]", "i64[2]"))

    def lower(self, x: Array, y: Array) -> Array:
        return jnp.gcd(_magnitude(x), _magnitude(y)).astype(x.dtype)


class Lcm(Binary):
    """Least common multiple of integers, element by element."""

    kinds = ("int",)
    differentiable = False
    examples = (case("i32[2,3]", "i32[3]"), case("i64[]", "i64[2]"))

    def lower(self, x: Array, y: Array) -> Array:
        x_, y_ = _magnitude(x), _magnitude(y)
        shared = jnp.gcd(x_, y_)
        return (jnp.floor_divide(x_, jnp.maximum(shared, 1)) * y_).astype(x.dtype)


def _magnitude(x: Array) -> Array:
    """Absolute values of integers as unsigned integers, so that the minimum does not overflow."""
    if jnp.issubdtype(x.dtype, jnp.unsignedinteger):
        return x
    unsigned = x.astype(f"uint{x.dtype.itemsize * 8}")
    return jnp.where(x < 0, ~unsigned + 1, unsigned)


def floor_mod(x: Any, y: Any) -> Any:
    """Floored remainder of x / y, with the sign of y."""
    return FloorMod.of()(x, y)


def truncate_mod(x: Any, y: Any) -> Any:
    """Truncated remainder of x / y, with the sign of x."""
    return TruncateMod.of()(x, y)


def remainder(input: Any, other: Any) -> Any:
    """Floored remainder of input / other, with the sign of other."""
    return Remainder.of()(input, other)


def fmod(input: Any, other: Any) -> Any:
    """Truncated remainder of input / other, with the sign of input."""
    if not isinstance(input, TensorProtocol) and not isinstance(other, TensorProtocol):
        raise problem(
            TypeError,
            "fmod: neither argument is a Tensor",
            got=f"{type(input).__name__} and {type(other).__name__}",
        )
    return Fmod.of()(input, other)


def gcd(input: Any, other: Any) -> Any:
    """Greatest common divisor of integers, element by element."""
    return Gcd.of()(input, other)


def lcm(input: Any, other: Any) -> Any:
    """Least common multiple of integers, element by element."""
    return Lcm.of()(input, other)


floormod = tensor_mod = floor_mod


def _by_nonzero(x: Array, y: Array, remainder_of: Any, by_zero: Array) -> Array:
    zero = y == 0
    return jnp.where(zero, by_zero, remainder_of(x, jnp.where(zero, jnp.ones_like(y), y)))
