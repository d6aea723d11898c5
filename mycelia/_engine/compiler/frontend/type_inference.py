"""Type inference of operators, cached by argument types."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.source_location import current_span
from mycelia._engine.ir.primitive import Primitive, tagged
from mycelia._engine.ir.rule_errors import RULE_ERRORS, raise_explained

_KNOWN: dict[Any, Any] = {}


def result_type(op: Primitive, data: tuple[Any, ...], static: tuple[Any, ...]) -> Any:
    """The result type of `op` for argument types (tuples of types, None for absent arguments)."""
    key = (op, tagged(static), data)
    try:
        found = _KNOWN.get(key)
    except TypeError:  # a static value without a hash
        return _infer(op, data, static)
    if found is None:
        found = _KNOWN[key] = _infer(op, data, static)
    return found


def _infer(op: Primitive, data: tuple[Any, ...], static: tuple[Any, ...]) -> Any:
    full = op.arguments.merge(data, static)
    try:
        return _as_tuples(op.infer(*full))
    except RULE_ERRORS as error:
        raise_explained(op, full, error, current_span())


def _as_tuples(found: Any) -> Any:
    return tuple(map(_as_tuples, found)) if isinstance(found, (list, tuple)) else found
