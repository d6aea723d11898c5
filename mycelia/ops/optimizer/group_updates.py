"""Optimizer updates of a parameter group that shares its settings and step count.

The formulas follow PyTorch: Adam adds epsilon after the bias correction, and the first momentum
step uses the gradient unchanged.
"""

from __future__ import annotations

from typing import Any

from mycelia._engine.ir.example import case
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.optimizer_rules import moments_rule
from mycelia.ops.optimizer.support import Arrays, Rates, Update, rate_each, update_all

_TWO = ("f32[2,3]", "f32[0]")
_TWO_POSITIVE = ("f32[2,3]:positive", "f32[0]:positive")
_RATE = "f32[]:unit"
_STEP = "f32[]:positive"


class AdamGroupUpdate(Update):
    """Adam update; `decoupled` applies weight decay to the parameters directly (AdamW).

    Non-empty `largest_moments` make it AMSGrad.
    """

    writes = ("params", "moments1", "moments2", "largest_moments")
    optional = ("largest_moments",)
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    decoupled: bool = False
    examples = (
        case(_TWO, _TWO, _TWO_POSITIVE, (), _STEP, _TWO, _RATE, weight_decay=(0.1, 0.1)),
        case(
            _TWO, _TWO, _TWO_POSITIVE, _TWO_POSITIVE, _STEP, _TWO, _RATE, weight_decay=(0.1, 0.1),
            decoupled=True,
        ),
        case(("f16[3]",), ("f32[3]",), ("f32[3]:positive",), (), _STEP, ("f16[3]",), _RATE),
    )  # fmt: skip

    def lower(
        self,
        params: Arrays,
        moments1: Arrays,
        moments2: Arrays,
        largest_moments: Arrays,
        step: Array,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Any:
        count = jnp.reshape(step, ()).astype(jnp.float32)
        unseen1, unseen2 = (-jnp.expm1(count * jnp.log(b)) for b in (self.beta1, self.beta2))
        states: tuple[Arrays, ...] = (params, moments1, moments2)
        states = (*states, largest_moments) if largest_moments else states
        if self.decoupled:
            steps = self.plain(params, gradients)
        else:
            steps = self.decayed(params, gradients, decays)
        amounts = [self.decay_of(i, decays) if self.decoupled else 0.0 for i in range(len(params))]
        kept = tuple(
            1 - jnp.asarray(rate * amount)
            for rate, amount in zip(rate_each(learning_rates, len(params)), amounts, strict=True)
        )
        remaining = iter(kept)

        def rule(param: Array, first: Array, second: Array, *rest: Array) -> Arrays:
            *largest, gradient, rate = rest
            first, second = moments_rule(first, second, gradient, self.beta1, self.beta2)
            tops = tuple(jnp.maximum(top, second) for top in largest)
            size = jnp.sqrt(tops[0] if tops else second) / jnp.sqrt(unseen2) + self.epsilon
            param = param * next(remaining).astype(param.dtype)
            return (param - (rate / unseen1) * first / size, first, second, *tops)

        _, new = update_all(rule, states, steps, learning_rates)
        return None, new if largest_moments else (*new, ())


class MomentumGroupUpdate(Update):
    """Momentum update; the first step fills the empty buffers."""

    writes = ("params", "buffers")
    momentum: float = 0.9
    dampening: float = 0.0
    nesterov: bool = False
    examples = (
        case(_TWO, _TWO, _STEP, _TWO, _RATE, dampening=0.3, weight_decay=(0.1, 0.1)),
        case(_TWO, _TWO, _STEP, _TWO, _RATE, nesterov=True, loss_scale=-1.0),
    )

    def lower(
        self,
        params: Arrays,
        buffers: Arrays,
        step: Array,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Any:
        is_first = jnp.reshape(step, ()) <= 1

        def rule(param: Array, buffer: Array, gradient: Array, rate: Array) -> Arrays:
            moved = buffer * self.momentum + (1 - self.dampening) * gradient
            moved = jnp.where(is_first, gradient, moved)
            direction = gradient + self.momentum * moved if self.nesterov else moved
            return param - rate * direction, moved

        steps = self.decayed(params, gradients, decays)
        return update_all(rule, (params, buffers), steps, learning_rates)
