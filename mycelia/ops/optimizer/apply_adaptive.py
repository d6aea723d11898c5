"""Updates of one parameter: RMSProp, FTRL, proximal, sign-based, and LARS."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.optimizer_rules import (
    centered_rms_prop_rule,
    ftrl_rule,
    lars_rule,
    proximal,
    proximal_adagrad_rule,
    rms_prop_rule,
)
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import FLOATS, REALS, check_kinds, check_one_number
from mycelia.ops.optimizer.support import ApplyUpdate

_W, _P, _S = "f32[2,3]", "f32[2,3]:positive", "f32[]:unit"


class ApplyRMSProp(ApplyUpdate):
    """RMSProp update."""

    writes = ("var", "mean_square", "moment")
    promotes = ("learning_rate", "decay", "momentum", "epsilon")
    use_locking: bool = False
    examples = (
        case(_W, _P, _W, _S, _W, _S, _S, _S),
        case("f32[0]", "f32[0]", "f32[0]", _S, "f32[0]", _S, _S, _S),
    )

    def lower(
        self,
        var: Array,
        mean_square: Array,
        moment: Array,
        learning_rate: Array,
        grad: Array,
        decay: Array,
        momentum: Array,
        epsilon: Array,
    ) -> Any:
        def rule(*args: Array) -> Any:
            p, s, m, g, rate, d, b, e = args
            return rms_prop_rule(p, s, m, g, rate, decay=d, momentum=b, epsilon=e)

        amounts = (grad, learning_rate, decay, momentum, epsilon)
        return self.single(rule, (var, mean_square, moment), *amounts)


class ApplyCenteredRMSProp(ApplyUpdate):
    """Centered RMSProp update."""

    writes = ("var", "mean_gradient", "mean_square", "moment")
    promotes = ("learning_rate", "decay", "momentum", "epsilon")
    use_locking: bool = False
    examples = (
        case(_W, "f32[2,3]:zeros", _P, _W, _W, _S, _S, _S, _S),
        case("f32[0]", "f32[0]", "f32[0]", "f32[0]", "f32[0]", _S, _S, _S, _S),
    )

    def lower(
        self,
        var: Array,
        mean_gradient: Array,
        mean_square: Array,
        moment: Array,
        grad: Array,
        learning_rate: Array,
        decay: Array,
        momentum: Array,
        epsilon: Array,
    ) -> Any:
        def rule(*args: Array) -> Any:
            p, mean, s, m, g, rate, d, b, e = args
            return centered_rms_prop_rule(p, mean, s, m, g, rate, decay=d, momentum=b, epsilon=e)

        states = (var, mean_gradient, mean_square, moment)
        return self.single(rule, states, grad, learning_rate, decay, momentum, epsilon)


class ApplyFtrl(ApplyUpdate):
    """FTRL update."""

    writes = ("var", "accum", "linear")
    promotes = ("lr", "l1", "l2", "lr_power")
    use_locking: bool = False
    examples = (
        case(_W, _P, _W, _W, _S, _S, _S, _S),
        case("f32[0]", "f32[0]", "f32[0]", "f32[0]", _S, _S, _S, _S),
    )

    def lower(
        self,
        var: Array,
        accum: Array,
        linear: Array,
        grad: Array,
        lr: Array,
        l1: Array,
        l2: Array,
        lr_power: Array,
    ) -> Any:
        def rule(*args: Array) -> Any:
            p, a, l, g, rate, l1_, l2_, power = args
            return ftrl_rule(p, a, l, g, rate, l1=l1_, l2=l2_, power=power)

        return self.single(rule, (var, accum, linear), grad, lr, l1, l2, lr_power)


class ApplyProximalAdagrad(ApplyUpdate):
    """Proximal Adagrad update, with L1 and L2 regularization."""

    writes = ("var", "accum")
    promotes = ("lr", "l1", "l2")
    use_locking: bool = False
    examples = (case(_W, _P, _S, _S, _S, _W), case("f32[]", _S, _S, _S, _S, "f32[]"))

    def lower(self, var: Array, accum: Array, lr: Array, l1: Array, l2: Array, grad: Array) -> Any:
        def rule(p: Array, a: Array, g: Array, rate: Array, l1_: Array, l2_: Array) -> Any:
            return proximal_adagrad_rule(p, a, g, rate, l1=l1_, l2=l2_)

        return self.written(rule, (var, accum), grad, lr, l1, l2)


class ApplyGradientDescent(ApplyUpdate):
    """Gradient descent update: var - alpha * delta."""

    writes = ("var",)
    promotes = ("alpha",)
    examples = (case(_W, _S, _W), case("f16[0]", _S, "f16[0]"))

    def lower(self, var: Array, alpha: Array, delta: Array) -> Any:
        return self.single(lambda p, a, d: (p - a * d,), (var,), alpha, delta)


class ApplyProximalGradientDescent(ApplyUpdate):
    """Proximal gradient descent update, with L1 and L2 regularization."""

    writes = ("var",)
    promotes = ("alpha", "l1", "l2")
    examples = (case(_W, _S, _S, _S, _W), case("f32[0]", _S, _S, _S, "f32[0]"))

    def lower(self, var: Array, alpha: Array, l1: Array, l2: Array, delta: Array) -> Any:
        def rule(p: Array, rate: Array, l1_: Array, l2_: Array, d: Array) -> Any:
            return (proximal(p - rate * d, rate, l1_, l2_),)

        return self.single(rule, (var,), alpha, l1, l2, delta)


class ApplyAddSign(ApplyUpdate):
    """AddSign update: larger where gradient and momentum agree in sign (Bello et al., 2017)."""

    writes = ("var", "m")
    promotes = ("lr", "alpha", "sign_decay", "beta")
    examples = (case(_W, _W, _S, _S, _S, _S, _W), case("f32[]", "f32[]", _S, _S, _S, _S, "f32[]"))

    def lower(
        self,
        var: Array,
        m: Array,
        lr: Array,
        alpha: Array,
        sign_decay: Array,
        beta: Array,
        grad: Array,
    ) -> Any:
        def rule(p: Array, m_: Array, rate: Array, a: Array, s: Array, b: Array, g: Array) -> Any:
            m_ = b * m_ + (1 - b) * g
            return p - rate * (a + s * jnp.sign(g) * jnp.sign(m_)) * g, m_

        return self.written(rule, (var, m), lr, alpha, sign_decay, beta, grad)


class ApplyPowerSign(ApplyUpdate):
    """PowerSign update: like AddSign, with the sign agreement as an exponent."""

    writes = ("var", "m")
    promotes = ("lr", "logbase", "sign_decay", "beta")
    examples = (case(_W, _W, _S, _S, _S, _S, _W), case("f32[]", "f32[]", _S, _S, _S, _S, "f32[]"))

    def lower(
        self,
        var: Array,
        m: Array,
        lr: Array,
        logbase: Array,
        sign_decay: Array,
        beta: Array,
        grad: Array,
    ) -> Any:
        def rule(p: Array, m_: Array, rate: Array, k: Array, s: Array, b: Array, g: Array) -> Any:
            m_ = b * m_ + (1 - b) * g
            return p - rate * jnp.exp(k * s * jnp.sign(g) * jnp.sign(m_)) * g, m_

        return self.written(rule, (var, m), lr, logbase, sign_decay, beta, grad)


class ApplyKerasMomentum(ApplyUpdate):
    """Momentum update as in Keras: the accumulator holds the step itself."""

    writes = ("var", "accum")
    promotes = ("lr", "momentum")
    use_locking: bool = False
    use_nesterov: bool = False
    examples = (case(_W, _W, _S, _W, _S), case(_W, _W, _S, _W, _S, use_nesterov=True))

    def lower(self, var: Array, accum: Array, lr: Array, grad: Array, momentum: Array) -> Any:
        def rule(p: Array, a: Array, rate: Array, g: Array, m: Array) -> Any:
            a = a * m - g * rate
            return p + (a * m - g * rate if self.use_nesterov else a), a

        return self.written(rule, (var, accum), lr, grad, momentum)


class LARSUpdate(Op):
    """LARS scaling of a gradient, from the sums of squares of weight and gradient."""

    differentiable = False
    promotes = ("weight_decay", "learning_rate")
    epsilon: float = 1e-5
    hyperpara: float = 0.001
    use_clip: bool = False
    examples = (
        case(_W, _W, "f32[]:positive", "f32[]:positive", _S, _S),
        case("f32[0]", "f32[0]", "f32[]:zeros", "f32[]:zeros", _S, _S, use_clip=True),
    )

    def infer(
        self,
        weight: TensorType,
        gradient: TensorType,
        norm_weight: TensorType,
        norm_gradient: TensorType,
        weight_decay: TensorType,
        learning_rate: TensorType,
    ) -> TensorType:
        if weight.shape != gradient.shape:
            raise problem(
                TypeError,
                "LARSUpdate: weight and gradient differ in shape",
                got=f"{weight} and {gradient}",
                expected="equal shapes",
            )
        amounts = {
            "norm_weight": norm_weight,
            "norm_gradient": norm_gradient,
            "weight_decay": weight_decay,
            "learning_rate": learning_rate,
        }
        for name, amount in amounts.items():
            check_one_number(self.name, name, amount)
        check_kinds(self.name, FLOATS, weight=weight, gradient=gradient)
        check_kinds(self.name, REALS, **amounts)
        return gradient

    def lower(
        self,
        weight: Array,
        gradient: Array,
        norm_weight: Array,
        norm_gradient: Array,
        weight_decay: Array,
        learning_rate: Array,
    ) -> Array:
        given = (weight, gradient, norm_weight, norm_gradient, weight_decay, learning_rate)
        working = jnp.promote_types(weight.dtype, jnp.float32)
        wide = [jnp.asarray(x).astype(working) for x in given]
        wide = [*wide[:2], *[jnp.reshape(amount, ()) for amount in wide[2:]]]
        scaled = lars_rule(
            *wide, epsilon=self.epsilon, coefficient=self.hyperpara, use_clip=self.use_clip
        )
        return scaled.astype(gradient.dtype)
