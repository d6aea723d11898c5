"""What optimizer updates share: gradients made ready, precision, new values in old dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.working_precision import widened, working_dtype

Arrays = tuple[Array, ...]
Rates = Array | Arrays


class Update(Op, register=False):
    """What all updates share: the loss scale divided out, decay added, the gradient centered."""

    differentiable = False
    each_apart = True
    by_norm: ClassVar[bool] = False  # its rule needs the whole parameter, not each number alone
    weight_decay: tuple[float, ...] = ()
    loss_scale: float = 1.0
    centralize: tuple[bool, ...] = ()

    def infer(self, *args: Any) -> Any:
        """No result; what is written keeps its types."""
        given = dict(zip(self.arguments.names, args, strict=False))
        return None, tuple(given[name] for name in self.writes)

    def decay_of(self, index: int, decays: Arrays | None) -> Any:
        if decays is not None:
            return jnp.reshape(decays[index], ())
        return self.weight_decay[index] if self.weight_decay else 0.0

    def decayed(self, params: Arrays, gradients: Arrays, decays: Arrays | None) -> Arrays:
        """The gradients in working precision, without the loss scale, with the decay added."""
        found = []
        for index, (param, gradient) in enumerate(zip(params, gradients, strict=True)):
            decay = self.decay_of(index, decays)
            unscaled = self._unscaled(param, gradient)
            idle = isinstance(decay, float) and decay == 0.0
            found.append(
                self._centered(index, unscaled if idle else unscaled + decay * widened(param))
            )
        return tuple(found)

    def plain(self, params: Arrays, gradients: Arrays) -> Arrays:
        """The gradients in working precision for rules that decay the parameter themselves."""
        pairs = enumerate(zip(params, gradients, strict=True))
        return tuple(self._centered(i, self._unscaled(p, g)) for i, (p, g) in pairs)

    def _unscaled(self, param: Array, gradient: Array) -> Array:
        wide = jnp.asarray(gradient).astype(working_dtype(param))
        return wide / self.loss_scale if self.loss_scale != 1.0 else wide

    def _centered(self, index: int, gradient: Array) -> Array:
        if not self.centralize or not self.centralize[index] or gradient.ndim < 2:
            return gradient
        axes = tuple(range(1, gradient.ndim))
        return gradient - jnp.mean(gradient, axis=axes, keepdims=True, dtype=gradient.dtype)


class ApplyUpdate(Op, register=False):
    """One parameter, its states and its gradient in; new values written, in working precision."""

    differentiable = False
    each_apart = True

    def written(self, rule: Callable[..., Any], states: tuple[Array, ...], *amounts: Array) -> Any:
        """The new states by `rule(*states, *amounts)`, as result and as updates."""
        working = jnp.promote_types(states[0].dtype, jnp.float32)
        wide = [jnp.asarray(x).astype(working) for x in (*states, *amounts)]
        new = rule(*wide)
        kept = tuple(n.astype(old.dtype) for n, old in zip(new, states, strict=True))
        return kept, kept

    def single(self, rule: Callable[..., Any], states: tuple[Array, ...], *amounts: Array) -> Any:
        """As `written`, for operators that return the parameter alone."""
        return None, self.written(rule, states, *amounts)[1]


def update_all(
    rule: Callable[..., Arrays], states: tuple[Arrays, ...], gradients: Arrays, rates: Rates
) -> Any:
    """Apply `rule` to each parameter; new values keep the dtypes of the old."""
    each = rate_each(rates, len(gradients))
    new = []
    for *old, gradient, rate in zip(*states, gradients, each, strict=True):
        wide = [jnp.asarray(x).astype(gradient.dtype) for x in old]
        result = rule(*wide, gradient, rate.astype(gradient.dtype))
        new.append([n.astype(o.dtype) for n, o in zip(result, old, strict=True)])
    return None, tuple(zip(*new, strict=True)) if new else tuple(() for _ in states)


def rate_each(rates: Rates, count: int) -> Arrays:
    """One 0-d learning rate for each parameter."""
    if isinstance(rates, (tuple, list)):
        return tuple(jnp.reshape(rate, ()) for rate in rates)
    return (jnp.reshape(rates, ()),) * count
