"""Short ways to ask for axes and to write expected ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia._engine.ir.example import is_tensor_spec
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.types import parse_type
from mycelia._engine.operators.axes import Axis, OperatorAxes, axes_of


def axes(op: Primitive, *args: Any) -> OperatorAxes:
    """The axes of an operator; types are written as text, alone or in tuples."""
    return axes_of(op, tuple(_typed(arg) for arg in args))


def axis(
    size: int,
    inputs: Sequence[tuple[int, int]],
    outputs: Sequence[tuple[int, int]],
    flops: float,
    combined: Sequence[tuple[int, str]] = (),
    inner: float = 0.0,
    uniform: bool = True,
) -> Axis:
    """An axis that any divisor of its size can cut."""
    return Axis(size, size, tuple(inputs), tuple(outputs), tuple(combined), flops, inner, uniform)


def inner_axis(found: OperatorAxes) -> Axis:
    """The one axis whose parts exchange values inside the operator."""
    (one,) = [a for a in found.axes if a.inner]
    return one


def by_size(found: OperatorAxes) -> dict[int, Axis]:
    """The axes by their sizes, which must all differ."""
    named = {one.size: one for one in found.axes}
    assert len(named) == len(found.axes)
    return named


def _typed(arg: Any) -> Any:
    if is_tensor_spec(arg):
        return parse_type(arg)
    if isinstance(arg, tuple):
        return tuple(_typed(one) for one in arg)
    return arg
