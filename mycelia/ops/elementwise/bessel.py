"""Bessel functions J, Y, and K of orders 0 and 1.

They are computed in double precision with power series for small arguments, Hankel's expansion for
large ones, and, for K, the integral of exp(-x cosh t) (Abramowitz and Stegun, chapter 9).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia._engine.ir.example import case
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.families import Unary
from mycelia.ops.argument_types import check_kinds, check_same_shape
from mycelia.ops.elementwise.arithmetic import div, mul, neg, sub

_FAR = 12.5  # where the power series and Hankel's expansion are equally accurate (about 1e-11)
_NEAR = 2.0  # K uses the power series up to here and the integral beyond
_TERMS, _HANKEL_TERMS, _POINTS = 40, 24, 40
_EULER = 0.5772156649015329
_ANY = (case("f32[2,3]"), case("f64[]:positive"), case("f16[0,2]"))
_POSITIVE = (case("f32[2,3]:positive"), case("f64[]:positive"), case("f16[0,2]"))


class Bessel(Unary, register=False):
    """Base class of Bessel functions: real arguments, computed in double precision."""

    kinds = ("float",)

    def value(self, x: Array) -> Array:
        raise TypeError(f"{self.name} does not define 'value'")

    def lower(self, x: Array) -> Array:
        return self.value(jnp.asarray(x).astype(jnp.float64)).astype(x.dtype)


class BesselJ0(Bessel):
    """Bessel function of the first kind, order 0."""

    examples = _ANY

    def value(self, x: Array) -> Array:
        size = jnp.abs(x)
        return jnp.where(size < _FAR, _first(size, 0), _waves(size, 0)[0])

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (neg(mul(dout, bessel_j1(x))),)


class BesselJ1(Bessel):
    """Bessel function of the first kind, order 1."""

    examples = (case("f32[2,3]:spread"), *_POSITIVE[1:])

    def value(self, x: Array) -> Array:
        size = jnp.abs(x)
        return jnp.sign(x) * jnp.where(size < _FAR, _first(size, 1), _waves(size, 1)[0])

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (BesselJ1Grad.of()(x, dout),)


class BesselJ1Grad(Unary):
    """The gradient of BesselJ1, whose derivative at 0 is 1/2."""

    kinds = ("float",)
    differentiable = False
    examples = (case("f32[2]:positive", "f32[2]"),)

    def infer(self, x: Any, dout: Any = None) -> Any:
        check_same_shape(self.name, x=x, dout=dout)
        check_kinds(self.name, self.kinds, x=x, dout=dout)
        return x

    def lower(self, x: Array, dout: Array) -> Array:
        wide = jnp.asarray(x).astype(jnp.float64)
        safe = jnp.where(wide == 0, 1.0, wide)
        slope = BesselJ0().value(wide) - BesselJ1().value(wide) / safe
        return (jnp.where(wide == 0, 0.5, slope) * dout).astype(x.dtype)


class BesselY0(Bessel):
    """Bessel function of the second kind, order 0, for positive arguments."""

    examples = _POSITIVE

    def value(self, x: Array) -> Array:
        near = jnp.minimum(x, _FAR)
        series = 2 / math.pi * (_log_half(near) * _first(near, 0) + _harmonic(near, -1.0))
        return _on_positive(x, jnp.where(x < _FAR, series, _waves(x, 0)[1]), -jnp.inf)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (neg(mul(dout, bessel_y1(x))),)


class BesselY1(Bessel):
    """Bessel function of the second kind, order 1, for positive arguments."""

    examples = _POSITIVE

    def value(self, x: Array) -> Array:
        near = jnp.minimum(x, _FAR)
        safe = jnp.where(near > 0, near, 1.0)
        series = 2 / math.pi * (_log_half(near) * _first(near, 1) - 1 / safe)
        series = series - _harmonic_odd(near, -1.0) / math.pi
        return _on_positive(x, jnp.where(x < _FAR, series, _waves(x, 1)[1]), -jnp.inf)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, sub(bessel_y0(x), div(out, x))),)


class BesselK0e(Bessel):
    """exp(x) * K0(x), for positive arguments.

    K0 is the modified Bessel function of the second kind, order 0.
    """

    examples = _POSITIVE

    def value(self, x: Array) -> Array:
        near = jnp.minimum(x, _NEAR)
        series = _harmonic(near, 1.0) - _log_half(near) * _first(near, 0, 1.0)
        values = jnp.where(x <= _NEAR, series * jnp.exp(near), _integral(x, 0))
        return _on_positive(x, values, jnp.inf)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, sub(out, bessel_k1e(x))),)


class BesselK1e(Bessel):
    """exp(x) * K1(x), for positive arguments.

    K1 is the modified Bessel function of the second kind, order 1.
    """

    examples = _POSITIVE

    def value(self, x: Array) -> Array:
        near = jnp.minimum(x, _NEAR)
        safe = jnp.where(near > 0, near, 1.0)
        series = 1 / safe + _log_half(near) * _first(near, 1, 1.0) - _harmonic_odd(near, 1.0) / 2
        values = jnp.where(x <= _NEAR, series * jnp.exp(near), _integral(x, 1))
        return _on_positive(x, values, jnp.inf)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (mul(dout, sub(sub(out, bessel_k0e(x)), div(out, x))),)


class BesselK0(Bessel):
    """Modified Bessel function of the second kind, order 0, for positive arguments."""

    examples = _POSITIVE

    def value(self, x: Array) -> Array:
        return BesselK0e().value(x) * jnp.exp(-x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (neg(mul(dout, bessel_k1(x))),)


class BesselK1(Bessel):
    """Modified Bessel function of the second kind, order 1, for positive arguments."""

    examples = _POSITIVE

    def value(self, x: Array) -> Array:
        return BesselK1e().value(x) * jnp.exp(-x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (neg(mul(dout, sub(div(out, x), neg(bessel_k0(x))))),)


def bessel_j0(x: Any) -> Any:
    """Bessel function of the first kind, order 0."""
    return BesselJ0.of()(x)


def bessel_j1(x: Any) -> Any:
    """Bessel function of the first kind, order 1."""
    return BesselJ1.of()(x)


def bessel_y0(x: Any) -> Any:
    """Bessel function of the second kind, order 0."""
    return BesselY0.of()(x)


def bessel_y1(x: Any) -> Any:
    """Bessel function of the second kind, order 1."""
    return BesselY1.of()(x)


def bessel_k0(x: Any) -> Any:
    """Modified Bessel function of the second kind, order 0."""
    return BesselK0.of()(x)


def bessel_k1(x: Any) -> Any:
    """Modified Bessel function of the second kind, order 1."""
    return BesselK1.of()(x)


def bessel_k0e(x: Any) -> Any:
    """Exponentially scaled modified Bessel function of the second kind, order 0: exp(x) * K0(x)."""
    return BesselK0e.of()(x)


def bessel_k1e(x: Any) -> Any:
    """Exponentially scaled modified Bessel function of the second kind, order 1: exp(x) * K1(x)."""
    return BesselK1e.of()(x)


def _polynomial(coefficients: np.ndarray, x: Array) -> Array:
    """The sum of coefficients[k] * x**k."""
    return jnp.polyval(jnp.asarray(coefficients[::-1]), x)


def _factorials(order: int, sign: float) -> np.ndarray:
    """sign**k / (k! (k + order)!) for each k of the series."""
    terms = [sign**k / (math.factorial(k) * math.factorial(k + order)) for k in range(_TERMS)]
    return np.array(terms)


def _first(x: Array, order: int, sign: float = -1.0) -> Array:
    """The power series of J (sign -1) or of the modified function I (sign 1)."""
    return (x / 2) ** order * _polynomial(_factorials(order, sign), x * x / 4)


def _log_half(x: Array) -> Array:
    return jnp.log(jnp.where(x > 0, x, 1.0) / 2) + _EULER


def _harmonic(x: Array, sign: float) -> Array:
    """The terms of Y and K of order 0 without a logarithm."""
    sums = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, _TERMS))])
    return (1 if sign > 0 else -1) * _polynomial(sums * _factorials(0, sign), x * x / 4)


def _harmonic_odd(x: Array, sign: float) -> Array:
    """The terms of Y and K of order 1 without a logarithm, which add neighboring harmonic sums."""
    sums = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, _TERMS + 1))])
    both = sums[:-1] + sums[1:]
    return x / 2 * _polynomial(both * _factorials(1, sign), x * x / 4)


def _waves(x: Array, order: int) -> tuple[Array, Array]:
    """Hankel's expansion of J and Y for large x."""
    far = jnp.maximum(x, _FAR)
    terms = [1.0]
    for k in range(1, _HANKEL_TERMS):
        terms.append(terms[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    even = np.array([(-1) ** k * terms[2 * k] for k in range(_HANKEL_TERMS // 2)])
    odd = np.array([(-1) ** k * terms[2 * k + 1] for k in range(_HANKEL_TERMS // 2)])
    inverse = 1 / far
    p, q = _polynomial(even, inverse**2), inverse * _polynomial(odd, inverse**2)
    phase = far - (order / 2 + 0.25) * math.pi
    sine, cosine = jnp.sin(phase), jnp.cos(phase)
    scale = jnp.sqrt(2 / (math.pi * far))
    return scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)


def _integral(x: Array, order: int) -> Array:
    """exp(x) * K(x) by the trapezoidal rule, which converges fast for such an integrand."""
    far = jnp.maximum(x, _NEAR)
    reach = jnp.arccosh(1 + 40 / far)

    def term(k: Array) -> Array:
        t = reach * k / _POINTS
        weight = jnp.where(k == 0, 0.5, 1.0)
        return weight * jnp.exp(-far * (jnp.cosh(t) - 1)) * jnp.cosh(order * t)

    total = lax.fori_loop(0, _POINTS + 1, lambda k, total: total + term(k), jnp.zeros_like(far))
    return total * reach / _POINTS


def _on_positive(x: Array, value: Array, at_zero: float) -> Array:
    return jnp.where(x > 0, value, jnp.where(x == 0, at_zero, jnp.nan))
