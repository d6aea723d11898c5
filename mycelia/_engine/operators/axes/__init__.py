"""Along which axes the work of an operator can be cut over devices.

The axes are read off the operator's `lower`, as its `infer` and `grad` are by default. An operator
that knows better defines `device_axes(self, *args) -> OperatorAxes | None`.
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
    """The axes of `op` for arguments like these: types of tensors, static values as they are."""
    key = (op, tagged(freeze(args)))
    try:
        found = _KNOWN.get(key)
    except TypeError:  # a static value without a hash
        return _ask(op, args)
    if found is None:
        found = _KNOWN[key] = _ask(op, args)
    return found


def _ask(op: Primitive, args: tuple[Any, ...]) -> OperatorAxes:
    own = getattr(op, "device_axes", None)
    found = own(*args) if own is not None else None
    return derive(op, args) if found is None else found
