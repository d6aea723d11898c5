"""The gates of recurrent layers: fast sigmoid and tanh."""

from __future__ import annotations

from functools import reduce

import numpy as np

from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.device import on_cpu

# tanh(x) is nearly x * over(x * x) / under(x * x) up to the bound, and one beyond it.
OVER = (1.3897353e-08, 2.09936361e-05, 0.00351873216, 0.134004567, 1.0)
UNDER = (7.99641492e-07, 0.000332362854, 0.0259648488, 0.467337769, 1.0)
BOUND = 8.7
_LARGE = 1 << 13  # elements above which sharing among cores is worth it
_ADDITIONS = 16  # per element: more operations than bytes, for a product of a few other arrays


def activated(gates: Array, kinds: tuple[str, ...]) -> Array:
    """The gates, each activated by sigmoid ("s") or tanh ("t"), in one loop over all of them.

    sigmoid(x) is (1 + tanh(x / 2)) / 2. One loop for all is several times faster than a loop for
    each: XLA would compute some gates again wherever they are used.
    """
    half = _halves(gates, kinds)
    return tanh_of(gates * half) * half + (1 - half)


def slopes_of(gates: Array, kinds: tuple[str, ...]) -> Array:
    """The derivatives of the activated gates with respect to their inputs."""
    half = _halves(gates, kinds)
    tangent = (gates - (1 - half)) / half
    return half * half * (1 - tangent * tangent)


def tanh_of(x: Array) -> Array:
    """tanh in a form that XLA shares among cores, even for a single time step.

    XLA does so if a loop has more operations than bytes, but does not count those inside its own
    tanh. The forward loop of an LSTM with 256 features and a batch of 32 takes 13.3 ms instead of
    14.9 on two cores. Accurate to five units in the last place, as XLA's own is.
    """
    return _quotient(x) if _is_large(x) else jnp.tanh(x)


def shared(x: Array, zero: Array) -> Array:
    """`x`, in a form whose computation XLA shares among cores; `zero` is 0 at run time.

    This saves less work than waiting: a core that is idle during such a loop falls asleep, and the
    product after it waits until the core is awake. The additions are hidden behind memory accesses.
    A step of an LSTM with 256 features and a batch of 32 takes 0.98 of the time.
    """
    for _ in range(_ADDITIONS if _is_large(x) else 0):
        x = x + zero
    return x


def zero_of(x: Array) -> Array:
    """A 0 that XLA cannot fold; NaN if the first element of `x` is not finite."""
    return 0 * lax.stop_gradient(x[(0,) * x.ndim])


def _is_large(x: Array) -> bool:
    """Whether sharing the computation of `x` among cores is worth it."""
    return x.size >= _LARGE and x.dtype == jnp.float32 and on_cpu()


@jax.custom_jvp
def _quotient(x: Array) -> Array:
    near = jnp.clip(x, -BOUND, BOUND)
    square = near * near
    quotient = near * _polynomial(OVER, square) / _polynomial(UNDER, square)
    return jnp.clip(quotient, -1, 1)


@_quotient.defjvp
def _quotient_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    result = _quotient(*primals)
    return result, tangents[0] * (1 - result * result)


def _polynomial(factors: tuple[float, ...], x: Array) -> Array:
    """Evaluate by Horner's rule; the coefficient of the highest power comes first."""
    return reduce(lambda total, factor: total * x + factor, factors)


def _halves(gates: Array, kinds: tuple[str, ...]) -> np.ndarray:
    """The scale of tanh for each gate: 1/2 for a sigmoid."""
    scales = np.array([0.5 if kind == "s" else 1.0 for kind in kinds], gates.dtype)
    return scales[:, None]
