"""Facts about the values of arrays: all zero, or positions along a dimension.

Zeros matter because sums into them may remain partial. Positions matter because looking up row i
of a table at index i is not a lookup: `x[arange(n), index]` iterates over the rows of x.
"""

from __future__ import annotations

from collections.abc import Callable

from mycelia._engine.operators.axes.primitive_steps import PrimitiveStep

_KEEP_ZERO = frozenset(
    ("broadcast_in_dim", "convert_element_type", "copy", "neg", "reshape", "squeeze", "transpose")
)


def learn(step: PrimitiveStep) -> None:
    """Derive facts about the outputs of a step from those about its inputs."""
    if step.name in _KEEP_ZERO and step.inputs[0].is_zero:
        step.outputs[0].is_zero = True
    rule = _LEARNED.get(step.name)
    if rule is not None:
        rule(step)


def _iota(step: PrimitiveStep) -> None:
    step.outputs[0].counts = step.params["dimension"]


def _keep(step: PrimitiveStep) -> None:
    step.outputs[0].counts = step.inputs[0].counts
    step.outputs[0].columns = step.inputs[0].columns


def _broadcast(step: PrimitiveStep) -> None:
    (value, *_), (made,) = step.inputs, step.outputs
    if value.counts is None:
        return
    dim = step.params["broadcast_dimensions"][value.counts]
    if made.shape[dim] == value.shape[value.counts]:
        made.counts = dim
        made.columns = (dim,) if made.shape[-1] == 1 else ()


def _reshape(step: PrimitiveStep) -> None:
    """Adding or removing dimensions of size 1 does not change positions."""
    (value, *_), (made,) = step.inputs, step.outputs
    before = [place for place, size in enumerate(value.shape) if size != 1]
    after = [place for place, size in enumerate(made.shape) if size != 1]
    if value.counts is None or value.counts not in before:
        return
    if [value.shape[i] for i in before] == [made.shape[i] for i in after]:
        made.counts = after[before.index(value.counts)]
        made.columns = (made.counts,) if made.shape[-1] == 1 else ()


def _less(step: PrimitiveStep) -> None:
    """No position is below 0."""
    left, right = step.inputs
    step.outputs[0].is_false = left.counts is not None and right.is_zero


def _select(step: PrimitiveStep) -> None:
    which, chosen, *_ = step.inputs
    if which.is_false:
        step.outputs[0].counts = chosen.counts
        step.outputs[0].columns = chosen.columns


def _concatenate(step: PrimitiveStep) -> None:
    """Concatenated columns of positions."""
    (made,) = step.outputs
    if step.params["dimension"] != made.ndim - 1:
        return
    columns: list[int | None] = []
    for value in step.inputs:
        width = value.shape[-1]
        columns += value.columns if len(value.columns) == width else [None] * width
    made.columns = tuple(columns)


_LEARNED: dict[str, Callable[[PrimitiveStep], None]] = {
    "iota": _iota,
    "copy": _keep,
    "convert_element_type": _keep,
    "stop_gradient": _keep,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": _reshape,
    "lt": _less,
    "select_n": _select,
    "concatenate": _concatenate,
}
