"""Updates of one parameter: momentum, SGD, Adam and its variants, Adagrad."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.optimizer_rules import (
    adadelta_rule,
    adagrad_rule,
    adam_rule,
    adam_weight_decay_rule,
    adamax_rule,
    amsgrad_rule,
    corrected_rate,
    momentum_rule,
    sgd_rule,
)
from mycelia.ops.optimizer.support import ApplyUpdate

_W, _P, _S = "f32[2,3]", "f32[2,3]:positive", "f32[]:unit"


class ApplyMomentum(ApplyUpdate):
    """Momentum update: accumulation = accumulation * momentum + gradient."""

    writes = ("variable", "accumulation")
    promotes = ("learning_rate", "momentum")
    use_nesterov: bool = False
    use_locking: bool = False
    gradient_scale: float = 1.0
    examples = (
        case(_W, _W, _S, _W, _S),
        case("f16[0]", "f16[0]", _S, "f32[0]", _S, use_nesterov=True, gradient_scale=2.0),
    )

    def lower(
        self,
        variable: Array,
        accumulation: Array,
        learning_rate: Array,
        gradient: Array,
        momentum: Array,
    ) -> Any:
        def rule(p: Array, a: Array, rate: Array, g: Array, m: Array) -> Any:
            return momentum_rule(
                p, a, g * self.gradient_scale, rate, momentum=m, nesterov=self.use_nesterov
            )

        return self.single(rule, (variable, accumulation), learning_rate, gradient, momentum)


class SGD(ApplyUpdate):
    """Stochastic gradient descent update; `stat` is 1 before the first step and 0 after."""

    writes = ("parameters", "accum", "stat")
    promotes = ("learning_rate", "momentum")
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False
    examples = (
        case(_W, _W, _S, _W, _S, _W, dampening=0.1, weight_decay=0.2),
        case("f32[0]", "f32[0]", _S, "f32[0]", _S, "f32[0]", nesterov=True),
    )

    def normalize(self) -> dict[str, Any]:
        if self.nesterov and self.dampening != 0:
            raise problem(
                ValueError,
                "SGD: nesterov requires dampening=0",
                got=f"nesterov=True and dampening={self.dampening}",
                expected="dampening=0.0",
            )
        return {}

    def lower(
        self,
        parameters: Array,
        gradient: Array,
        learning_rate: Array,
        accum: Array,
        momentum: Array,
        stat: Array,
    ) -> Any:
        def rule(p: Array, a: Array, first: Array, g: Array, rate: Array, m: Array) -> Any:
            step = g + self.weight_decay * p
            return sgd_rule(
                p,
                a,
                first,
                step,
                rate,
                momentum=m,
                dampening=self.dampening,
                nesterov=self.nesterov,
            )

        return self.single(rule, (parameters, accum, stat), gradient, learning_rate, momentum)


class Adam(ApplyUpdate):
    """Adam update; the powers of both betas are arguments."""

    writes = ("var", "m", "v")
    promotes = ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon")
    use_locking: bool = False
    use_nesterov: bool = False
    examples = (
        case(_W, _W, _P, _S, _S, _S, _S, _S, _S, _W),
        case(_W, _W, _P, _S, _S, _S, _S, _S, _S, _W, use_nesterov=True),
    )

    def lower(
        self,
        var: Array,
        m: Array,
        v: Array,
        beta1_power: Array,
        beta2_power: Array,
        lr: Array,
        beta1: Array,
        beta2: Array,
        epsilon: Array,
        gradient: Array,
    ) -> Any:
        def rule(*args: Array) -> Any:
            p, m_, v_, power1, power2, rate, b1, b2, e, g = args
            rate = corrected_rate(rate, power1, power2)
            return adam_rule(
                p, m_, v_, g, rate, beta1=b1, beta2=b2, epsilon=e, nesterov=self.use_nesterov
            )

        amounts = (beta1_power, beta2_power, lr, beta1, beta2, epsilon)
        return self.written(rule, (var, m, v), *amounts, gradient)


class AdamWeightDecay(ApplyUpdate):
    """Adam update with decoupled weight decay and without bias correction."""

    writes = ("var", "m", "v")
    promotes = ("lr", "beta1", "beta2", "epsilon", "decay")
    use_locking: bool = False
    examples = (
        case(_W, _W, _P, _S, _S, _S, _S, _S, _W),
        case("f32[0]", "f32[0]", "f32[0]", _S, _S, _S, _S, _S, "f32[0]"),
    )

    def lower(
        self,
        var: Array,
        m: Array,
        v: Array,
        lr: Array,
        beta1: Array,
        beta2: Array,
        epsilon: Array,
        decay: Array,
        gradient: Array,
    ) -> Any:
        def rule(*args: Array) -> Any:
            p, m_, v_, g, rate, b1, b2, e, d = args
            return adam_weight_decay_rule(
                p, m_, v_, g, rate, beta1=b1, beta2=b2, epsilon=e, decay=d
            )

        amounts = (gradient, lr, beta1, beta2, epsilon, decay)
        return self.written(rule, (var, m, v), *amounts)


class ApplyAdamWithAmsgrad(ApplyUpdate):
    """AMSGrad update; betas and epsilon are attributes."""

    writes = ("var", "m", "v", "vhat")
    promotes = ("beta1_power", "beta2_power", "lr")
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    use_locking: bool = False
    examples = (
        case(_W, _W, _P, _P, _S, _S, _S, _W),
        case("f32[0]", "f32[0]", "f32[0]", "f32[0]", _S, _S, _S, "f32[0]", beta1=0.5),
    )

    def lower(
        self,
        var: Array,
        m: Array,
        v: Array,
        vhat: Array,
        beta1_power: Array,
        beta2_power: Array,
        lr: Array,
        grad: Array,
    ) -> Any:
        def rule(*args: Array) -> Any:
            p, m_, v_, largest, power1, power2, rate, g = args
            rate = corrected_rate(rate, power1, power2)
            b1, b2, e = self.beta1, self.beta2, self.epsilon
            return amsgrad_rule(p, m_, v_, largest, g, rate, beta1=b1, beta2=b2, epsilon=e)

        return self.written(rule, (var, m, v, vhat), beta1_power, beta2_power, lr, grad)


class ApplyAdamWithAmsgradV2(ApplyUpdate):
    """AMSGrad update; betas and epsilon are arguments."""

    writes = ("var", "m", "v", "vhat")
    promotes = ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon")
    use_locking: bool = False
    examples = (
        case(_W, _W, _P, _P, _S, _S, _S, _S, _S, _S, _W),
        case("f32[]", "f32[]", "f32[]", "f32[]:unit", _S, _S, _S, _S, _S, _S, "f32[]"),
    )

    def lower(
        self,
        var: Array,
        m: Array,
        v: Array,
        vhat: Array,
        beta1_power: Array,
        beta2_power: Array,
        lr: Array,
        beta1: Array,
        beta2: Array,
        epsilon: Array,
        grad: Array,
    ) -> Any:
        def rule(*args: Array) -> Any:
            p, m_, v_, largest, power1, power2, rate, b1, b2, e, g = args
            rate = corrected_rate(rate, power1, power2)
            return amsgrad_rule(p, m_, v_, largest, g, rate, beta1=b1, beta2=b2, epsilon=e)

        amounts = (beta1_power, beta2_power, lr, beta1, beta2, epsilon)
        return self.written(rule, (var, m, v, vhat), *amounts, grad)


class ApplyAdaMax(ApplyUpdate):
    """AdaMax update."""

    writes = ("var", "m", "v")
    promotes = ("beta1_power", "lr", "beta1", "beta2", "epsilon")
    examples = (
        case(_W, _W, _P, _S, _S, _S, _S, _S, _W),
        case("f32[0]", "f32[0]", "f32[0]", _S, _S, _S, _S, _S, "f32[0]"),
    )

    def lower(
        self,
        var: Array,
        m: Array,
        v: Array,
        beta1_power: Array,
        lr: Array,
        beta1: Array,
        beta2: Array,
        epsilon: Array,
        grad: Array,
    ) -> Any:
        def rule(*args: Array) -> Any:
            p, m_, v_, power, rate, b1, b2, e, g = args
            rate = rate / (1 - power)
            return adamax_rule(p, m_, v_, g, rate, beta1=b1, beta2=b2, epsilon=e)

        amounts = (beta1_power, lr, beta1, beta2, epsilon)
        return self.written(rule, (var, m, v), *amounts, grad)


class ApplyAdadelta(ApplyUpdate):
    """Adadelta update."""

    writes = ("var", "accum", "accum_update")
    promotes = ("lr", "rho", "epsilon")
    examples = (case(_W, _P, _P, _S, _S, _S, _W), case("f32[]", _S, _S, _S, _S, _S, "f32[]"))

    def lower(
        self,
        var: Array,
        accum: Array,
        accum_update: Array,
        lr: Array,
        rho: Array,
        epsilon: Array,
        grad: Array,
    ) -> Any:
        def rule(*args: Array) -> Any:
            p, a, s, g, rate, decay, e = args
            return adadelta_rule(p, a, s, g, rate, rho=decay, epsilon=e)

        return self.written(rule, (var, accum, accum_update), grad, lr, rho, epsilon)


class ApplyAdagrad(ApplyUpdate):
    """Adagrad update."""

    writes = ("var", "accum")
    promotes = ("lr",)
    update_slots: bool = True
    examples = (case(_W, _P, _S, _W), case(_W, _P, _S, _W, update_slots=False))

    def lower(self, var: Array, accum: Array, lr: Array, grad: Array) -> Any:
        def rule(p: Array, a: Array, g: Array, rate: Array) -> Any:
            return adagrad_rule(p, a, g, rate, update=self.update_slots)

        return self.written(rule, (var, accum), grad, lr)


class ApplyAdagradV2(ApplyUpdate):
    """Adagrad update with `epsilon` added to the root."""

    writes = ("var", "accum")
    promotes = ("lr",)
    epsilon: float
    update_slots: bool = True
    examples = (
        case(_W, _P, _S, _W, epsilon=0.1),
        case(_W, _P, _S, _W, epsilon=0.1, update_slots=False),
    )

    def lower(self, var: Array, accum: Array, lr: Array, grad: Array) -> Any:
        def rule(p: Array, a: Array, g: Array, rate: Array) -> Any:
            grown = a + g * g if self.update_slots else a
            return p - rate * g / (jnp.sqrt(grown) + self.epsilon), grown

        return self.written(rule, (var, accum), grad, lr)


class ApplyAdagradDA(ApplyUpdate):
    """Adagrad update with dual averaging (Duchi et al., 2011)."""

    writes = ("var", "gradient_accumulator", "gradient_squared_accumulator")
    promotes = ("lr", "l1", "l2")
    use_locking: bool = False
    examples = (
        case(_W, _W, _P, _W, _S, _S, _S, "i32[]:<9"),
        case("f32[0]", "f32[0]", "f32[0]", "f32[0]", _S, "f32[]:zeros", _S, "i64[]:<9"),
    )

    def lower(
        self,
        var: Array,
        gradient_accumulator: Array,
        gradient_squared_accumulator: Array,
        grad: Array,
        lr: Array,
        l1: Array,
        l2: Array,
        global_step: Array,
    ) -> Any:
        def rule(p: Array, a: Array, s: Array, g: Array, rate: Array, *rest: Array) -> Any:
            l1_, l2_, step = rest
            a, s = a + g, s + g * g
            shrunk = jnp.sign(a) * jnp.maximum(jnp.abs(a) - l1_ * step, 0)
            pulled = jnp.where(l1_ > 0, shrunk, a)
            return -rate * pulled / (l2_ * step * rate + jnp.sqrt(s)), a, s

        states = (var, gradient_accumulator, gradient_squared_accumulator)
        kept, updates = self.written(rule, states, grad, lr, l1, l2, global_step)
        return kept[0], updates
