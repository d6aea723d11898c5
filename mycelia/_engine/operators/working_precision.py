"""Working precision: sums and powers of half-precision values are computed in float32."""

from __future__ import annotations

from typing import Any

from mycelia._engine.jax_setup import Array, jnp


def working_dtype(x: Array) -> Any:
    """The dtype to compute with for data like `x`: float32, or float64 for float64."""
    return jnp.float64 if x.dtype == jnp.float64 else jnp.float32


def widened(x: Array) -> Array:
    """`x` converted to its working precision."""
    return jnp.asarray(x).astype(working_dtype(x))
