"""Fused optimizer updates: one XLA program updates all parameters.

Parameters, their states, and gradients are tuples. A learning rate is one 0-d tensor, or a tuple
with one per parameter. `weight_decay` and `centralize` are empty or have one entry per parameter.
`decays` (0-d tensors) replaces `weight_decay` if the decay changes from step to step.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from mycelia._engine.ir.example import case
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.optimizer_rules import (
    adadelta_rule,
    adagrad_rule,
    adam_rule,
    adam_weight_decay_rule,
    adamax_rule,
    amsgrad_rule,
    centered_rms_prop_rule,
    corrected_rate,
    ftrl_rule,
    lamb_rule,
    lars_rule,
    momentum_rule,
    proximal_adagrad_rule,
    rms_prop_rule,
    sgd_rule,
)
from mycelia._engine.kernels.sums import summed
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.optimizer.support import Arrays, Rates, Update, rate_each, update_all

_TWO = ("f32[2,3]", "f32[0]")
_TWO_POSITIVE = ("f32[2,3]:positive", "f32[0]:positive")
_RATE = "f32[]:unit"


class MomentumUpdate(Update):
    """Momentum update of all parameters."""

    writes = ("params", "moments")
    use_nesterov: bool = False
    examples = (
        case(_TWO, _TWO, _TWO, _RATE, "f32[]:unit", weight_decay=(0.1, 0.0), loss_scale=2.0),
        case(_TWO, _TWO, _TWO, (_RATE, _RATE), "f32[]:unit", use_nesterov=True),
        case(("f16[3,4]",), ("f16[3,4]",), ("f32[3,4]",), _RATE, _RATE, centralize=(True,)),
    )

    def lower(
        self,
        params: Arrays,
        moments: Arrays,
        gradients: Arrays,
        learning_rates: Rates,
        momentum: Array,
        decays: Arrays | None = None,
    ) -> Any:
        steps = self.decayed(params, gradients, decays)
        amount = jnp.reshape(momentum, ())

        def rule(p: Array, m: Array, g: Array, rate: Array) -> Arrays:
            return momentum_rule(p, m, g, rate, momentum=amount, nesterov=self.use_nesterov)

        return update_all(rule, (params, moments), steps, learning_rates)


class DescentUpdate(Update):
    """Gradient descent update of all parameters, without momentum."""

    writes = ("params",)
    examples = (
        case(_TWO, _TWO, _RATE, loss_scale=2.0, weight_decay=(0.1, 0.0)),
        case(_TWO, _TWO, (_RATE, _RATE)),
    )

    def lower(
        self,
        params: Arrays,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Any:
        def rule(p: Array, g: Array, rate: Array) -> Arrays:
            return (p - rate * g,)

        return update_all(rule, (params,), self.decayed(params, gradients, decays), learning_rates)


class SgdUpdate(Update):
    """Stochastic gradient descent update of all parameters."""

    writes = ("params", "accumulators", "stats")
    dampening: float = 0.0
    nesterov: bool = False
    examples = (
        case(_TWO, _TWO, _TWO, _TWO, _RATE, "f32[]:zeros", loss_scale=2.0),
        case(_TWO, _TWO, _TWO, _TWO, _RATE, "f32[]:unit", weight_decay=(0.1, 0.1), dampening=0.3),
        case(_TWO, _TWO, _TWO, _TWO, (_RATE, _RATE), "f32[]:unit", nesterov=True),
    )

    def lower(
        self,
        params: Arrays,
        accumulators: Arrays,
        stats: Arrays,
        gradients: Arrays,
        learning_rates: Rates,
        momentum: Array,
        decays: Arrays | None = None,
    ) -> Any:
        steps = self.decayed(params, gradients, decays)
        amount = jnp.reshape(momentum, ())

        def rule(p: Array, a: Array, first: Array, g: Array, rate: Array) -> Arrays:
            return sgd_rule(
                p,
                a,
                first,
                g,
                rate,
                momentum=amount,
                dampening=self.dampening,
                nesterov=self.nesterov,
            )

        return update_all(rule, (params, accumulators, stats), steps, learning_rates)


class AdamUpdate(Update):
    """Adam update of all parameters; non-empty `largest_moments` make it AMSGrad."""

    writes = ("params", "moments1", "moments2", "largest_moments", "beta1_power", "beta2_power")
    optional = ("largest_moments",)
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    use_nesterov: bool = False
    examples = (
        case(_TWO, _TWO, _TWO_POSITIVE, (), _RATE, _RATE, _TWO, _RATE, weight_decay=(0.1, 0.0)),
        case(_TWO, _TWO, _TWO_POSITIVE, (), _RATE, _RATE, _TWO, (_RATE, _RATE), use_nesterov=True),
        case(_TWO, _TWO, _TWO_POSITIVE, _TWO_POSITIVE, "f32[1]:unit", "f32[1]:unit", _TWO, _RATE),
    )

    def lower(
        self,
        params: Arrays,
        moments1: Arrays,
        moments2: Arrays,
        largest_moments: Arrays,
        beta1_power: Array,
        beta2_power: Array,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Any:
        power1, power2 = beta1_power * self.beta1, beta2_power * self.beta2
        rates = tuple(
            corrected_rate(rate, jnp.reshape(power1, ()), jnp.reshape(power2, ()))
            for rate in rate_each(learning_rates, len(params))
        )
        states: tuple[Arrays, ...] = (params, moments1, moments2)
        states = (*states, largest_moments) if largest_moments else states
        steps = self.decayed(params, gradients, decays)
        _, new = update_all(self._rule, states, steps, rates)
        new = new if largest_moments else (*new, ())
        return None, (*new, power1, power2)

    def _rule(self, *args: Array) -> Arrays:
        beta1, beta2, epsilon = self.beta1, self.beta2, self.epsilon
        if len(args) == 6:
            return amsgrad_rule(*args, beta1=beta1, beta2=beta2, epsilon=epsilon)
        return adam_rule(
            *args, beta1=beta1, beta2=beta2, epsilon=epsilon, nesterov=self.use_nesterov
        )


class AdamWeightDecayUpdate(Update):
    """Adam update of all parameters, with decoupled weight decay and no bias correction."""

    writes = ("params", "moments1", "moments2")
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    examples = (
        case(_TWO, _TWO, _TWO_POSITIVE, _TWO, _RATE, weight_decay=(0.1, 0.0)),
        case(_TWO, _TWO, _TWO_POSITIVE, _TWO, (_RATE, _RATE), (_RATE, _RATE)),
    )

    def lower(
        self,
        params: Arrays,
        moments1: Arrays,
        moments2: Arrays,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Any:
        amounts = iter(self.decay_of(i, decays) for i in range(len(params)))

        def rule(*args: Array) -> Arrays:
            return adam_weight_decay_rule(
                *args,
                beta1=self.beta1,
                beta2=self.beta2,
                epsilon=self.epsilon,
                decay=next(amounts),
            )

        steps = self.plain(params, gradients)
        return update_all(rule, (params, moments1, moments2), steps, learning_rates)


class LambUpdate(Update):
    """LAMB update of all parameters; `global_step` counts from 1."""

    by_norm = True
    writes = ("params", "moments1", "moments2")
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    examples = (
        case(_TWO, _TWO, _TWO_POSITIVE, _TWO, _RATE, "i32[1]:<1", weight_decay=(0.1, 0.0)),
        case(_TWO, _TWO, _TWO_POSITIVE, _TWO, (_RATE, _RATE), "f32[]:positive"),
    )

    def lower(
        self,
        params: Arrays,
        moments1: Arrays,
        moments2: Arrays,
        gradients: Arrays,
        learning_rates: Rates,
        global_step: Array,
        decays: Arrays | None = None,
    ) -> Any:
        amounts = iter(self.decay_of(i, decays) for i in range(len(params)))
        count = jnp.reshape(global_step, ()).astype(jnp.float32)

        def rule(*args: Array) -> Arrays:
            return lamb_rule(
                *args,
                step=count,
                beta1=self.beta1,
                beta2=self.beta2,
                epsilon=self.epsilon,
                decay=next(amounts),
            )

        steps = self.plain(params, gradients)
        return update_all(rule, (params, moments1, moments2), steps, learning_rates)


class AdagradUpdate(Update):
    """Adagrad update of all parameters."""

    writes = ("params", "accumulators")
    update_slots: bool = True
    examples = (
        case(_TWO, _TWO_POSITIVE, _TWO, _RATE, weight_decay=(0.1, 0.0), loss_scale=2.0),
        case(_TWO, _TWO_POSITIVE, _TWO, (_RATE, _RATE), update_slots=False),
    )

    def lower(
        self,
        params: Arrays,
        accumulators: Arrays,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Any:
        def rule(*args: Array) -> Arrays:
            return adagrad_rule(*args, update=self.update_slots)

        steps = self.decayed(params, gradients, decays)
        return update_all(rule, (params, accumulators), steps, learning_rates)


class RmsPropUpdate(Update):
    """RMSProp update of all parameters; non-empty `mean_gradients` make it centered."""

    writes = ("params", "mean_gradients", "mean_squares", "moments")
    optional = ("mean_gradients",)
    decay: float = 0.9
    momentum: float = 0.0
    epsilon: float = 1e-10
    examples = (
        case(_TWO, (), _TWO_POSITIVE, _TWO, _TWO, _RATE, weight_decay=(0.1, 0.0), momentum=0.5),
        case(_TWO, ("f32[2,3]:zeros", "f32[0]"), _TWO_POSITIVE, _TWO, _TWO, (_RATE, _RATE)),
    )

    def lower(
        self,
        params: Arrays,
        mean_gradients: Arrays,
        mean_squares: Arrays,
        moments: Arrays,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Any:
        steps = self.decayed(params, gradients, decays)
        amounts = {"decay": self.decay, "momentum": self.momentum, "epsilon": self.epsilon}
        if mean_gradients:
            states: tuple[Arrays, ...] = (params, mean_gradients, mean_squares, moments)
            rule = partial(centered_rms_prop_rule, **amounts)
            return update_all(rule, states, steps, learning_rates)
        states = (params, mean_squares, moments)
        _, new = update_all(partial(rms_prop_rule, **amounts), states, steps, learning_rates)
        return None, (new[0], (), *new[1:])


class FtrlUpdate(Update):
    """FTRL update of all parameters."""

    writes = ("params", "accumulators", "linears")
    l1: float = 0.0
    l2: float = 0.0
    lr_power: float = -0.5
    examples = (
        case(_TWO, _TWO_POSITIVE, _TWO, _TWO, _RATE, weight_decay=(0.1, 0.0), loss_scale=2.0),
        case(_TWO, _TWO_POSITIVE, _TWO, _TWO, (_RATE, _RATE), l1=0.1, l2=0.2),
    )

    def lower(
        self,
        params: Arrays,
        accumulators: Arrays,
        linears: Arrays,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Any:
        def rule(*args: Array) -> Arrays:
            return ftrl_rule(*args, l1=self.l1, l2=self.l2, power=self.lr_power)

        steps = self.decayed(params, gradients, decays)
        return update_all(rule, (params, accumulators, linears), steps, learning_rates)


class AdaMaxUpdate(Update):
    """AdaMax update of all parameters."""

    writes = ("params", "moments1", "moments2", "beta1_power")
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    examples = (
        case(_TWO, _TWO, _TWO_POSITIVE, "f32[1]:unit", _TWO, _RATE, weight_decay=(0.1, 0.0)),
        case(_TWO, _TWO, _TWO_POSITIVE, _RATE, _TWO, (_RATE, _RATE)),
    )

    def lower(
        self,
        params: Arrays,
        moments1: Arrays,
        moments2: Arrays,
        beta1_power: Array,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Any:
        power = beta1_power * self.beta1
        shrink = 1 - jnp.reshape(power, ())
        rates = tuple(rate / shrink for rate in rate_each(learning_rates, len(params)))

        def rule(*args: Array) -> Arrays:
            return adamax_rule(*args, beta1=self.beta1, beta2=self.beta2, epsilon=self.epsilon)

        steps = self.decayed(params, gradients, decays)
        _, new = update_all(rule, (params, moments1, moments2), steps, rates)
        return None, (*new, power)


class AdadeltaUpdate(Update):
    """Adadelta update of all parameters."""

    writes = ("params", "accumulators", "accumulated_steps")
    rho: float = 0.9
    epsilon: float = 1e-6
    examples = (
        case(_TWO, _TWO_POSITIVE, _TWO_POSITIVE, _TWO, _RATE, weight_decay=(0.1, 0.0)),
        case(_TWO, _TWO_POSITIVE, _TWO_POSITIVE, _TWO, (_RATE, _RATE), loss_scale=2.0),
    )

    def lower(
        self,
        params: Arrays,
        accumulators: Arrays,
        accumulated_steps: Arrays,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Any:
        def rule(*args: Array) -> Arrays:
            return adadelta_rule(*args, rho=self.rho, epsilon=self.epsilon)

        steps = self.decayed(params, gradients, decays)
        return update_all(rule, (params, accumulators, accumulated_steps), steps, learning_rates)


class ProximalAdagradUpdate(Update):
    """Proximal Adagrad update of all parameters, with L1 and L2 regularization."""

    writes = ("params", "accumulators")
    l1: float = 0.0
    l2: float = 0.0
    examples = (
        case(_TWO, _TWO_POSITIVE, _TWO, _RATE, weight_decay=(0.1, 0.0), loss_scale=2.0),
        case(_TWO, _TWO_POSITIVE, _TWO, (_RATE, _RATE), l1=0.1, l2=0.2),
    )

    def lower(
        self,
        params: Arrays,
        accumulators: Arrays,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Any:
        def rule(*args: Array) -> Arrays:
            return proximal_adagrad_rule(*args, l1=self.l1, l2=self.l2)

        steps = self.decayed(params, gradients, decays)
        return update_all(rule, (params, accumulators), steps, learning_rates)


class LarsScale(Op):
    """LARS scaling of the gradients of all parameters; those not in `chosen` stay unchanged."""

    differentiable = False
    epsilon: float = 1e-5
    coefficient: float = 0.001
    use_clip: bool = False
    weight_decay: tuple[float, ...] = ()
    chosen: tuple[bool, ...] = ()
    examples = (
        case(_TWO, _TWO, _RATE, weight_decay=(0.1, 0.0)),
        case(_TWO, _TWO, (_RATE, _RATE), use_clip=True, chosen=(True, False)),
    )

    def lower(
        self,
        params: Arrays,
        gradients: Arrays,
        learning_rates: Rates,
        decays: Arrays | None = None,
    ) -> Arrays:
        rates = rate_each(learning_rates, len(params))
        return tuple(
            self._scaled(i, param, gradient, rate, decays)
            if not self.chosen or self.chosen[i]
            else gradient
            for i, (param, gradient, rate) in enumerate(zip(params, gradients, rates, strict=True))
        )

    def _scaled(
        self, index: int, param: Array, gradient: Array, rate: Array, decays: Arrays | None
    ) -> Array:
        p = widened(param)
        g = jnp.asarray(gradient).astype(p.dtype)
        decay: Any = self.weight_decay[index] if self.weight_decay else 0.0
        if decays is not None:
            decay = jnp.reshape(decays[index], ())
        squares = summed(p * p), summed(g * g)
        scaled = lars_rule(
            p,
            g,
            *squares,
            decay,
            rate,
            epsilon=self.epsilon,
            coefficient=self.coefficient,
            use_clip=self.use_clip,
        )
        return scaled.astype(gradient.dtype)
