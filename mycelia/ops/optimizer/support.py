"""Shared helpers of optimizer updates: gradient preparation, precision, result dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from mycelia._engine.core.errors import ShapeError, problem, wrong_type
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.working_precision import widened, working_dtype
from mycelia.ops.argument_types import (
    FLOATS,
    NUMBERS,
    REALS,
    check_kinds,
    check_one_number,
    check_shape,
)

Arrays = tuple[Array, ...]
Rates = Array | Arrays
Types = tuple[TensorType, ...]


class Update(Op, register=False):
    """Base of all updates: unscales the loss, adds weight decay, centralizes the gradient."""

    differentiable = False
    each_apart = True
    optional: ClassVar[tuple[str, ...]] = ()  # states that may be empty
    by_norm: ClassVar[bool] = False  # its rule needs the whole parameter, not single elements
    weight_decay: tuple[float, ...] = ()
    loss_scale: float = 1.0
    centralize: tuple[bool, ...] = ()

    def infer(self, *args: Any) -> Any:
        """No result; the written tensors keep their types."""
        given = dict(zip(self.arguments.names, args, strict=False))
        params = given["params"]
        for name, value in given.items():
            if name in ("learning_rates", "decays"):
                self._check_amounts(name, value, len(params))
            elif not isinstance(value, tuple):
                check_one_number(self.name, name, value)
                check_kinds(self.name, FLOATS if name in self.writes else REALS, **{name: value})
            elif value or name not in self.optional:
                self._check_alike(name, value, params)
        for name in ("weight_decay", "centralize"):
            self._check_count(name, getattr(self, name) or params, len(params))
        return None, tuple(given[name] for name in self.writes)

    def _check_alike(self, name: str, found: Types, params: Types) -> None:
        """Checks that each state and the gradients have one tensor per parameter, of its shape."""
        self._check_count(name, found, len(params))
        for number, (one, param) in enumerate(zip(found, params, strict=True)):
            check_shape(self.name, f"{name}[{number}]", one, param.shape)
            check_kinds(self.name, NUMBERS, **{name: one})

    def _check_amounts(self, name: str, found: TensorType | Types | None, count: int) -> None:
        if isinstance(found, tuple):
            self._check_count(name, found, count)
        elif found is not None and name == "decays":
            raise wrong_type(self.name, name, found, "a tuple of tensors")
        for one in found if isinstance(found, tuple) else (found,):
            if one is not None:
                check_one_number(self.name, name, one)
                check_kinds(self.name, REALS, **{name: one})

    def _check_count(self, name: str, found: Any, count: int) -> None:
        if len(found) != count:
            raise problem(
                ShapeError,
                f"{self.name}: '{name}' has the wrong number of entries",
                got=f"{len(found)} for {count} parameters",
                expected="one per parameter",
            )

    def decay_of(self, index: int, decays: Arrays | None) -> Any:
        if decays is not None:
            return jnp.reshape(decays[index], ())
        return self.weight_decay[index] if self.weight_decay else 0.0

    def decayed(self, params: Arrays, gradients: Arrays, decays: Arrays | None) -> Arrays:
        """Gradients in working precision, unscaled, with the weight decay added."""
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
        """Gradients in working precision, for rules that apply the weight decay themselves."""
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
    """Base of updates of one parameter and its states, computed in working precision."""

    differentiable = False
    each_apart = True

    def written(self, rule: Callable[..., Any], states: tuple[Array, ...], *amounts: Array) -> Any:
        """New states by `rule(*states, *amounts)`, as result and as updates."""
        working = jnp.promote_types(states[0].dtype, jnp.float32)
        wide = [jnp.asarray(x).astype(working) for x in (*states, *amounts)]
        new = rule(*wide)
        kept = tuple(n.astype(old.dtype) for n, old in zip(new, states, strict=True))
        return kept, kept

    def single(self, rule: Callable[..., Any], states: tuple[Array, ...], *amounts: Array) -> Any:
        """As `written`, for operators that return only the parameter."""
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
    """One 0-d learning rate per parameter."""
    if isinstance(rates, (tuple, list)):
        return tuple(jnp.reshape(rate, ()) for rate in rates)
    return (jnp.reshape(rates, ()),) * count
