"""Sparse optimizer updates of indexed rows; gradients of equal indices are added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.optimizer_rules import (
    adadelta_rule,
    adam_rule,
    corrected_rate,
    ftrl_rule,
    proximal_adagrad_rule,
    rms_prop_rule,
)
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia.ops.optimizer.support import ApplyUpdate

_W, _P, _S = "f32[4,2]", "f32[4,2]:positive", "f32[]:unit"
_G, _I = "f32[3,2]", "i32[3]:<4"


class SparseUpdate(ApplyUpdate, register=False):
    """Base of sparse updates: a dense gradient from the given rows, and a rule for the rest."""

    def bounds(self, *args: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.indices(self.arguments.names.index("indices"), args[0].shape[0]),)

    def by_rows(
        self,
        rule: Callable[..., Any],
        states: tuple[Array, ...],
        grad: Array,
        indices: Array,
        *amounts: Array,
        every_row: bool = False,
    ) -> Any:
        """New states by `rule(*states, gradient, *amounts)`, in the indexed rows or all rows."""
        var = states[0]
        if grad.shape[1:] != var.shape[1:] or grad.shape[:1] != indices.shape:
            raise problem(
                ValueError,
                f"{self.name}: gradient and indices do not match",
                got=f"var {var.shape}, grad {grad.shape}, indices {indices.shape}",
                expected="one row of the gradient per index",
            )
        rows = jnp.asarray(indices)
        whole = jnp.zeros(var.shape, grad.dtype).at[rows].add(grad, mode="drop")
        named = jnp.zeros(var.shape[:1], bool).at[rows].set(True, mode="drop")
        named = jnp.reshape(named, (-1, *(1 for _ in var.shape[1:]))) | every_row

        def on_rows(*args: Array) -> Any:
            pairs = zip(rule(*args), args[: len(states)], strict=True)
            return tuple(jnp.where(named, new, old) for new, old in pairs)

        return self.written(on_rows, states, whole, *amounts)


class SparseApplyAdagrad(SparseUpdate):
    """Sparse Adagrad update."""

    writes = ("var", "accum")
    lr: float
    update_slots: bool = True
    use_locking: bool = False
    examples = (case(_W, _P, _G, _I, lr=0.1), case(_W, _P, _G, _I, lr=0.1, update_slots=False))

    def lower(self, var: Array, accum: Array, grad: Array, indices: Array) -> Any:
        def rule(p: Array, a: Array, g: Array) -> Any:
            a = a + g * g if self.update_slots else a
            return p - self.lr * g * lax.rsqrt(a), a

        return self.by_rows(rule, (var, accum), grad, indices)


class SparseApplyAdagradV2(SparseUpdate):
    """Sparse Adagrad update with an `epsilon` against division by 0."""

    writes = ("var", "accum")
    lr: float
    epsilon: float
    use_locking: bool = False
    update_slots: bool = True
    examples = (case(_W, _P, _G, _I, lr=0.1, epsilon=0.01),)

    def lower(self, var: Array, accum: Array, grad: Array, indices: Array) -> Any:
        def rule(p: Array, a: Array, g: Array) -> Any:
            a = a + g * g if self.update_slots else a
            return p - self.lr * g / (jnp.sqrt(a) + self.epsilon), a

        return self.by_rows(rule, (var, accum), grad, indices)


class SparseApplyAdadelta(SparseUpdate):
    """Sparse Adadelta update."""

    writes = ("var", "accum", "accum_update")
    promotes = ("lr", "rho")
    epsilon: float
    use_locking: bool = False
    examples = (case(_W, _P, _P, _S, _S, _G, _I, epsilon=1e-6),)

    def lower(
        self,
        var: Array,
        accum: Array,
        accum_update: Array,
        lr: Array,
        rho: Array,
        grad: Array,
        indices: Array,
    ) -> Any:
        def rule(p: Array, a: Array, u: Array, g: Array, rate: Array, keep: Array) -> Any:
            return adadelta_rule(p, a, u, g, rate, rho=keep, epsilon=jnp.float32(self.epsilon))

        return self.by_rows(rule, (var, accum, accum_update), grad, indices, lr, rho)


class SparseApplyRMSProp(SparseUpdate):
    """Sparse RMSProp update."""

    writes = ("var", "ms", "mom")
    promotes = ("lr",)
    rho: float
    momentum: float
    epsilon: float
    use_locking: bool = False
    examples = (case(_W, _P, _W, _S, _G, _I, rho=0.9, momentum=0.5, epsilon=1e-4),)

    def lower(
        self, var: Array, ms: Array, mom: Array, lr: Array, grad: Array, indices: Array
    ) -> Any:
        def rule(p: Array, s: Array, m: Array, g: Array, rate: Array) -> Any:
            decay, momentum, epsilon = map(jnp.float32, (self.rho, self.momentum, self.epsilon))
            return rms_prop_rule(p, s, m, g, rate, decay=decay, momentum=momentum, epsilon=epsilon)

        return self.by_rows(rule, (var, ms, mom), grad, indices, lr)


class SparseApplyFtrl(SparseUpdate):
    """Sparse FTRL update."""

    writes = ("var", "accum", "linear")
    lr: float
    l1: float
    l2: float
    lr_power: float
    use_locking: bool = False
    examples = (case(_W, _P, _W, _G, _I, lr=0.1, l1=0.01, l2=0.02, lr_power=-0.5),)

    def lower(self, var: Array, accum: Array, linear: Array, grad: Array, indices: Array) -> Any:
        def rule(p: Array, a: Array, l: Array, g: Array) -> Any:
            l1, l2, power, rate = map(jnp.float32, (self.l1, self.l2, self.lr_power, self.lr))
            return ftrl_rule(p, a, l, g, rate, l1=l1, l2=l2, power=power)

        return self.by_rows(rule, (var, accum, linear), grad, indices)


class FusedSparseFtrl(SparseApplyFtrl):
    """Sparse FTRL update."""


class SparseApplyProximalAdagrad(SparseUpdate):
    """Sparse proximal Adagrad update, with L1 and L2 regularization."""

    writes = ("var", "accum")
    promotes = ("lr", "l1", "l2")
    use_locking: bool = False
    examples = (case(_W, _P, _S, _S, _S, _G, _I),)

    def lower(
        self,
        var: Array,
        accum: Array,
        lr: Array,
        l1: Array,
        l2: Array,
        grad: Array,
        indices: Array,
    ) -> Any:
        def rule(p: Array, a: Array, g: Array, rate: Array, l1_: Array, l2_: Array) -> Any:
            return proximal_adagrad_rule(p, a, g, rate, l1=l1_, l2=l2_)

        return self.by_rows(rule, (var, accum), grad, indices, lr, l1, l2)


class FusedSparseProximalAdagrad(SparseApplyProximalAdagrad):
    """Sparse proximal Adagrad update, with L1 and L2 regularization."""


class FusedSparseAdam(SparseUpdate):
    """Sparse Adam update; rows without a gradient still move with their moments."""

    writes = ("var", "m", "v")
    promotes = ("beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon")
    every_row = True
    use_locking: bool = False
    use_nesterov: bool = False
    examples = (
        case(_W, _W, _P, *(_S,) * 6, _G, _I),
        case(_W, _W, _P, *(_S,) * 6, _G, _I, use_nesterov=True),
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
        indices: Array,
    ) -> Any:
        def rule(*args: Array) -> Any:
            p, first, second, g, power1, power2, rate, b1, b2, small = args
            corrected = corrected_rate(rate, power1, power2)
            nesterov = self.use_nesterov
            return adam_rule(
                p, first, second, g, corrected, beta1=b1, beta2=b2, epsilon=small, nesterov=nesterov
            )

        amounts = [
            jnp.reshape(x, ()) for x in (beta1_power, beta2_power, lr, beta1, beta2, epsilon)
        ]
        states = (var, m, v)
        return self.by_rows(rule, states, gradient, indices, *amounts, every_row=self.every_row)


class FusedSparseLazyAdam(FusedSparseAdam):
    """Sparse lazy Adam update: rows without a gradient stay unchanged."""

    every_row = False
