"""Special functions: error function, gamma function, zeta, and modified Bessel functions."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core.checks import check_positive_int
from mycelia._engine.core.dtype import DType, at_least_float
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.families import Binary, Unary
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.elementwise.arithmetic import add, mul, neg, square
from mycelia.ops.elementwise.exponential import exp

_ANY = (case("f32[2,3]"), case("f32[]"), case("f16[0,2]"), case("bf16[2]", differentiate=False))
_POSITIVE = (case("f32[2,3]:positive"), case("f32[]:positive"), case("f16[0,2]"))
_PAIRS = (case("f32[2,3]:positive", "f32[3]:positive"), case("f32[]:positive", "f32[2]:positive"))


class Erf(Unary):
    """Error function, element by element."""

    kinds = ("float",)
    examples = _ANY

    def lower(self, input: Array) -> Array:
        return lax.erf(jnp.asarray(input))

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(mul(dout, 2.0 / math.sqrt(math.pi)), exp(neg(square(input)))),)


class Erfc(Unary):
    """Complementary error function: 1 - erf(x)."""

    kinds = ("float",)
    examples = _ANY

    def lower(self, input: Array) -> Array:
        return lax.erfc(jnp.asarray(input))

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(mul(dout, -2.0 / math.sqrt(math.pi)), exp(neg(square(input)))),)


class Erfinv(Unary):
    """Inverse error function, element by element."""

    kinds = ("float",)
    examples = (case("f32[2,3]:unit"), case("f32[]:unit"), case("f16[0,2]"))

    def lower(self, input: Array) -> Array:
        return lax.erf_inv(jnp.asarray(input))

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(mul(dout, math.sqrt(math.pi) / 2.0), exp(square(out))),)


class Lgamma(Unary):
    """Logarithm of the absolute value of the gamma function."""

    kinds = ("int", "float")
    examples = (*_POSITIVE, case("i32[2]:<5"))

    def result_dtype(self, dtype: DType) -> DType:
        return at_least_float(dtype)

    def lower(self, input: Array) -> Array:
        inexact = jnp.issubdtype(input.dtype, jnp.inexact)
        return lax.lgamma(jnp.asarray(input).astype(input.dtype if inexact else jnp.float32))

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, digamma(input)),)


class Digamma(Unary):
    """Digamma function: the derivative of lgamma."""

    kinds = ("float",)
    examples = _POSITIVE

    def lower(self, input: Array) -> Array:
        x = jnp.asarray(input)
        return jnp.where(x == 0, -jnp.inf, lax.digamma(x))

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, polygamma(1, input)),)


class Polygamma(Op):
    """Polygamma function: the `a`-th derivative of digamma at x, for one integer `a`."""

    promotes = ("a",)
    examples = (
        case("i64[]:<3", "f32[2,3]:positive"),
        case("i32[]:<3", "f64[]:positive"),
        case("i32[]:<3", "f32[0]"),
    )

    def infer(self, a: TensorType, x: TensorType) -> TensorType:
        if a.shape != () or not a.dtype.is_integer:
            kind = ValueError if a.dtype.is_integer else TypeError
            raise problem(kind, "Polygamma: the order must be one integer", got=str(a))
        if not x.dtype.is_float:
            raise unsupported_dtype(self.name, x, "a float tensor")
        return x

    def lower(self, a: Array, x: Array) -> Array:
        wide = jnp.asarray(x).astype(jnp.promote_types(x.dtype, jnp.float32))
        order = jnp.broadcast_to(jnp.asarray(a).astype(wide.dtype), wide.shape)
        value = jnp.where(order == 0, lax.digamma(wide), lax.polygamma(jnp.abs(order), wide))
        return jnp.where(order < 0, jnp.nan, value).astype(x.dtype)

    def grad(self, a: Any, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return None, mul(dout, polygamma(add(a, 1), x))


class Igamma(Binary):
    """Lower regularized incomplete gamma function P(x, y)."""

    kinds = ("float",)
    examples = _PAIRS

    def lower(self, x: Array, y: Array) -> Array:
        return lax.igamma(*jnp.broadcast_arrays(x, y))


class Igammac(Binary):
    """Upper regularized incomplete gamma function Q(x, y) = 1 - P(x, y)."""

    kinds = ("float",)
    examples = _PAIRS

    def lower(self, x: Array, y: Array) -> Array:
        return lax.igammac(*jnp.broadcast_arrays(x, y))


class Zeta(Binary):
    """Hurwitz zeta function: the sum of (y + k) ** -x over k >= 0."""

    kinds = ("float",)
    differentiable = False
    examples = _PAIRS

    def lower(self, x: Array, y: Array) -> Array:
        return lax.zeta(*jnp.broadcast_arrays(x, y))


class Mvlgamma(Op):
    """Logarithm of the multivariate gamma function of dimension `p`."""

    p: int
    examples = (case("f64[2,3]:positive", p=1), case("f32[2]:positive", p=2))

    def normalize(self) -> dict[str, Any]:
        return {"p": check_positive_int(self.name, "p", self.p)}

    def infer(self, x: TensorType) -> TensorType:
        if not x.dtype.is_float:
            raise unsupported_dtype(self.name, x, "a float tensor")
        return x

    def lower(self, x: Array) -> Array:
        constant = self.p * (self.p - 1) / 4.0 * math.log(math.pi)
        steps = [lax.lgamma(jnp.asarray(x) - 0.5 * i) for i in range(self.p)]
        return sum(steps, jnp.asarray(constant, x.dtype))


class BesselI0(Unary):
    """Modified Bessel function of the first kind, order 0."""

    kinds = ("float",)
    examples = _ANY

    def lower(self, x: Array) -> Array:
        return jax.scipy.special.i0(x)


class BesselI0e(Unary):
    """Exponentially scaled modified Bessel function of the first kind: exp(-|x|) * I0(x)."""

    kinds = ("float",)
    examples = _ANY

    def lower(self, x: Array) -> Array:
        return jax.scipy.special.i0e(x)


class BesselI1(Unary):
    """Modified Bessel function of the first kind, order 1."""

    kinds = ("float",)
    examples = _ANY

    def lower(self, x: Array) -> Array:
        return jax.scipy.special.i1(x)


class BesselI1e(Unary):
    """Exponentially scaled modified Bessel function of the first kind: exp(-|x|) * I1(x)."""

    kinds = ("float",)
    examples = _ANY

    def lower(self, x: Array) -> Array:
        return jax.scipy.special.i1e(x)


def erf(input: Any) -> Any:
    """Error function, element by element."""
    return Erf.of()(input)


def erfc(input: Any) -> Any:
    """Complementary error function: 1 - erf(input)."""
    return Erfc.of()(input)


def erfinv(input: Any) -> Any:
    """Inverse error function, element by element."""
    return Erfinv.of()(input)


def lgamma(input: Any) -> Any:
    """Logarithm of the absolute value of the gamma function."""
    return Lgamma.of()(input)


def digamma(input: Any) -> Any:
    """Digamma function: the derivative of `lgamma`."""
    return Digamma.of()(input)


def polygamma(n: Any, input: Any) -> Any:
    """Polygamma function: the n-th derivative of `digamma`."""
    return Polygamma.of()(n, input)


def igamma(input: Any, other: Any) -> Any:
    """Lower regularized incomplete gamma function P(input, other)."""
    return Igamma.of()(input, other)


def igammac(input: Any, other: Any) -> Any:
    """Upper regularized incomplete gamma function Q(input, other)."""
    return Igammac.of()(input, other)


def zeta(input: Any, other: Any) -> Any:
    """Hurwitz zeta function: the sum of (other + k) ** -input over k >= 0."""
    return Zeta.of()(input, other)


def mvlgamma(input: Any, p: int) -> Any:
    """Logarithm of the multivariate gamma function of dimension `p`."""
    return Mvlgamma.of(p)(input)


def bessel_i0(x: Any) -> Any:
    """Modified Bessel function of the first kind, order 0."""
    return BesselI0.of()(x)


def i0(input: Any) -> Any:
    """Modified Bessel function of the first kind, order 0."""
    return BesselI0.of()(input)


def bessel_i0e(x: Any) -> Any:
    """Exponentially scaled modified Bessel function of the first kind: exp(-|x|) * I0(x)."""
    return BesselI0e.of()(x)


def bessel_i1(x: Any) -> Any:
    """Modified Bessel function of the first kind, order 1."""
    return BesselI1.of()(x)


def bessel_i1e(x: Any) -> Any:
    """Exponentially scaled modified Bessel function of the first kind: exp(-|x|) * I1(x)."""
    return BesselI1e.of()(x)
