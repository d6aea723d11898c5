"""The axes along which an operator can be sharded over devices.

The axes are derived from the operator's `lower`, just as `infer` and `grad` are by default. An
operator can override them: `device_axes(self, *args) -> OperatorAxes | None`.
"""

from __future__ import annotations

from typing import Any

from mycelia._engine.ir.primitive import Primitive, freeze, tagged
from mycelia._engine.operators.axes.axis import Axis, OperatorAxes
from mycelia._engine.operators.axes.derive import derive
from mycelia._engine.operators.axes.rules import unknown_primitives

__all__ = ["Axis", "OperatorAxes", "axes_of", "unknown_primitives"]

_KNOWN: dict[Any, OperatorAxes] = {}


def axes_of(op: Primitive, args: tuple[Any, ...]) -> OperatorAxes:
    """The axes of `op` for arguments like these: tensor types and static values."""
    key = (op, tagged(freeze(args)))
    try:
        known_axes = _KNOWN.get(key)
    except TypeError:  # a static value without a hash
        return _ask(op, args)
    if known_axes is None:
        known_axes = _KNOWN[key] = _ask(op, args)
    return known_axes


def _ask(op: Primitive, args: tuple[Any, ...]) -> OperatorAxes:
    custom = getattr(op, "device_axes", None)
    operator_axes = custom(*args) if custom is not None else None
    return derive(op, args) if operator_axes is None else operator_axes
