"""Partial results: which steps can be applied to the terms of a reduction before combining them.

A reduction along a sharded axis leaves each shard with one term of the result. Some steps map
terms to terms: the sum of doubled terms is the doubled sum. All other steps need the combined
value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mycelia._engine.jax_setup import jnp
from mycelia._engine.operators.axes.primitive_steps import PrimitiveStep

Kinds = Sequence[str | None]  # per operand: how its terms are combined; None if complete
_REPEATABLE = ("max", "min", "any")  # adding a complete value to every term changes nothing


def still_unfinished(step: PrimitiveStep, kinds: Kinds) -> str | None:
    """How the terms of the result are combined if the step works on terms; else None."""
    rule = _RULES.get(step.name)
    return rule(step, kinds) if rule is not None else None


def _same_numbers(step: PrimitiveStep, kinds: Kinds) -> str | None:
    """Moves elements of the first operand; the other operands must be complete."""
    return kinds[0] if not any(kinds[1:]) else None


def _together(step: PrimitiveStep, kinds: Kinds) -> str | None:
    """All operands are terms; a complete one is allowed if it is neutral or repeatable."""
    found = {kind for kind in kinds if kind is not None}
    if len(found) != 1:
        return None
    (kind,) = found
    finished = [value for value, own in zip(step.inputs, kinds, strict=True) if own is None]
    if kind in _REPEATABLE or (kind == "sum" and all(value.is_zero for value in finished)):
        return kind
    return None


def _selected(step: PrimitiveStep, kinds: Kinds) -> str | None:
    """A choice between terms by a complete condition."""
    if kinds[0] is not None:
        return None
    chosen = PrimitiveStep(step.name, step.params, step.inputs[1:], step.outputs, step.repeats)
    return _together(chosen, kinds[1:])


def _updated(step: PrimitiveStep, kinds: Kinds) -> str | None:
    """A slice of terms written into terms, at a complete index."""
    if any(kinds[2:]):
        return None
    both = PrimitiveStep(step.name, step.params, step.inputs[:2], step.outputs, step.repeats)
    return _together(both, kinds[:2])


def _scattered(step: PrimitiveStep, kinds: Kinds) -> str | None:
    """Terms added to terms, at complete indices."""
    if kinds[1] is not None:
        return None
    pair = (step.inputs[0], step.inputs[2])
    both = PrimitiveStep(step.name, step.params, pair, step.outputs, step.repeats)
    found = _together(both, (kinds[0], kinds[2]))
    return found if found == SCATTERED[step.name] else None


def _only(
    kind: str, rule: Callable[[PrimitiveStep, Kinds], str | None]
) -> Callable[..., str | None]:
    """`rule`, for terms that are combined by `kind`."""

    def checked(step: PrimitiveStep, kinds: Kinds) -> str | None:
        return kind if rule(step, kinds) == kind else None

    return checked


def _negated(step: PrimitiveStep, kinds: Kinds) -> str | None:
    return {"sum": "sum", "max": "min", "min": "max"}.get(kinds[0] or "")


def _multiplied(step: PrimitiveStep, kinds: Kinds) -> str | None:
    """Terms times a complete value."""
    return "sum" if list(kinds).count(None) == len(kinds) - 1 and "sum" in kinds else None


def _divided(step: PrimitiveStep, kinds: Kinds) -> str | None:
    is_exact = jnp.issubdtype(step.outputs[0].dtype, jnp.inexact)
    return "sum" if is_exact and kinds[0] == "sum" and kinds[1] is None else None


def _converted(step: PrimitiveStep, kinds: Kinds) -> str | None:
    """Conversion to a dtype that represents the values; integers that overflow still add up."""
    before, after = step.inputs[0].dtype, step.outputs[0].dtype
    kind = kinds[0]
    if kind == "any":
        return "any" if jnp.issubdtype(after, jnp.bool_) else "max"
    if jnp.issubdtype(after, jnp.inexact):
        return kind
    whole = jnp.issubdtype(before, jnp.integer) and jnp.issubdtype(after, jnp.integer)
    if whole and (kind == "sum" or jnp.promote_types(before, after) == after):
        return kind
    return None


SCATTERED = {  # how the terms of a table are combined if its updates are sharded
    "scatter-add": "sum",
    "scatter-sub": "sum",
    "scatter-max": "max",
    "scatter-min": "min",
}
_MOVED = """
    broadcast_in_dim copy dynamic_slice gather pile reshape rev slice split squeeze stop_gradient
    take tile transpose unstack
    """.split()
_RULES: dict[str, Callable[[PrimitiveStep, Kinds], str | None]] = {
    **dict.fromkeys(_MOVED, _same_numbers),
    **dict.fromkeys(("concatenate", "join", "pad", "stack"), _together),
    **dict.fromkeys(("add", "add_any", "sub"), _only("sum", _together)),
    **dict.fromkeys(("mul", "dot_general", "conv_general_dilated"), _multiplied),
    **dict.fromkeys(("reduce_sum", "cumsum", "real", "imag", "conj"), _only("sum", _same_numbers)),
    **dict.fromkeys(("reduce_max", "cummax"), _only("max", _same_numbers)),
    **dict.fromkeys(("reduce_min", "cummin", "reduce_and"), _only("min", _same_numbers)),
    **dict.fromkeys(SCATTERED, _scattered),
    "reduce_or": _only("any", _same_numbers),
    "max": _only("max", _together),
    "min": _only("min", _together),
    "or": _only("any", _together),
    "select_n": _selected,
    "dynamic_update_slice": _updated,
    "neg": _negated,
    "div": _divided,
    "convert_element_type": _converted,
}
