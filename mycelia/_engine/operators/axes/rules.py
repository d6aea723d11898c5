"""The dimension rule of every jax primitive: which dimensions are split together."""

from __future__ import annotations

from collections.abc import Callable

from mycelia._engine.operators.axes.batched_rules import BATCHED_RULES
from mycelia._engine.operators.axes.dimension_symbols import block_all, unite_all
from mycelia._engine.operators.axes.elementwise import ELEMENTWISE
from mycelia._engine.operators.axes.indexing_rules import INDEXING_RULES
from mycelia._engine.operators.axes.primitive_steps import PrimitiveStep
from mycelia._engine.operators.axes.reduction_rules import REDUCING_RULES
from mycelia._engine.operators.axes.shape_rules import SHAPING_RULES

_RULES: dict[str, Callable[[PrimitiveStep], None]] = {
    **SHAPING_RULES,
    **REDUCING_RULES,
    **INDEXING_RULES,
    **BATCHED_RULES,
}
_UNKNOWN: set[str] = set()


def unknown_primitives() -> frozenset[str]:
    """Names of jax primitives met so far that have no rule: they cannot be sharded."""
    return frozenset(_UNKNOWN)


def apply_rule(step: PrimitiveStep) -> None:
    """Unite and block the dimensions of a step's values by the rule of its primitive."""
    if step.name in ELEMENTWISE:
        _elementwise(step)
        return
    rule = _RULES.get(step.name)
    if rule is not None:
        rule(step)
        return
    _UNKNOWN.add(step.name)
    for value in (*step.inputs, *step.outputs):
        block_all(value.dims)


def _elementwise(step: PrimitiveStep) -> None:
    """All arrays have one shape, except for scalars and sizes of 1, which broadcast."""
    shaped = [value for value in (*step.inputs, *step.outputs) if value.ndim]
    for dim in range(max((value.ndim for value in shaped), default=0)):
        size = max(value.shape[dim] for value in shaped)
        unite_all(value.dims[dim] for value in shaped if value.shape[dim] == size)
