"""Differentiable samples from gamma distributions."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.shape import broadcast
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.operator import unsupported_dtype
from mycelia._engine.operators.random_streams import check_shape
from mycelia.ops.random.distributions import Drawn


class StandardGamma(Drawn):
    """Samples of `shape` from gamma distributions with shape parameter `alpha` and scale 1.

    The gradient is implicit: how a sample moves with `alpha` at a fixed quantile (Figurnov et al.,
    2018, "Implicit Reparameterization Gradients"). Sampling uses rejection, so the samples of one
    key do not move that way: finite differences do not match this gradient, but means do.
    """

    differentiable = True
    examples = (
        case((3, 2, 2), "f32[2,2]:positive", differentiate=False),
        case((2,), "f64[]:positive", seed=4, differentiate=False),
        case((2,), "f16[2]:positive", differentiate=False),
    )

    def infer(self, shape: Any, alpha: TensorType, key: Any = None) -> TensorType:
        if not alpha.dtype.is_float:
            raise unsupported_dtype(self.name, alpha, "a float tensor")
        return alpha.with_shape(broadcast(check_shape(self.name, shape), alpha.shape, op=self.name))

    def lower(self, shape: Any, alpha: Array, key: Array) -> Array:
        full = jnp.broadcast_shapes(shape, jnp.shape(alpha))
        form = jnp.asarray(alpha).astype(jnp.promote_types(alpha.dtype, jnp.float32))
        drawn = jax.random.gamma(self.stream(key), form, full, form.dtype)
        return drawn.astype(alpha.dtype)
