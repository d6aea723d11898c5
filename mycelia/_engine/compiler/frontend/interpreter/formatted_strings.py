"""Strings with runtime values: f-strings for print and error messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.symbolic import GraphBreak, SymbolicNumber, is_symbolic
from mycelia.tensor.tensor import Tensor


@dataclass(frozen=True)
class FormatField:
    """A value to be formatted at run time, with its conversion and format."""

    value: Any
    conversion: int
    spec: str

    def write(self, value: Any) -> str:
        if self.conversion == ord("r"):
            value = repr(value)
        elif self.conversion in (ord("s"), ord("a")):
            value = str(value)
        return format(value, self.spec)


@dataclass(frozen=True)
class SymbolicString:
    """A string with format fields for runtime values."""

    parts: tuple[str | FormatField, ...]

    @staticmethod
    def formatted(value: Any, conversion: int, spec: Any) -> Any:
        """One `{value!r:spec}` of an f-string."""
        if not isinstance(spec, str):
            raise GraphBreak(None, "the format of a string is known only at run time")
        hole = FormatField(value, conversion, spec)
        if isinstance(value, SymbolicString):
            return value
        return SymbolicString((hole,)) if holds_symbolic(value) else hole.write(value)

    @staticmethod
    def joined(parts: list[Any]) -> Any:
        """Join the parts of an f-string: a plain string if all parts are constants."""
        if all(isinstance(p, str) for p in parts):
            return "".join(parts)
        flat: list[str | FormatField] = []
        for part in parts:
            flat += part.parts if isinstance(part, SymbolicString) else (part,)
        return SymbolicString(tuple(flat))

    def __add__(self, other: Any) -> Any:
        return SymbolicString.joined([self, other])

    def __radd__(self, other: Any) -> Any:
        return SymbolicString.joined([other, self])


def text_of(pattern: str, values: Any) -> Any:
    """`pattern % values`."""
    if holds_symbolic(values):
        raise GraphBreak(None, "a string is formatted from a runtime value")
    return pattern % values


def holds_symbolic(value: Any) -> bool:
    """Whether `value` contains symbolic values."""
    if isinstance(value, (tuple, list, set)):
        return any(map(holds_symbolic, value))
    if isinstance(value, dict):
        return any(map(holds_symbolic, value.values()))
    if isinstance(value, Tensor):
        return is_symbolic(value) or value._is_parameter
    return isinstance(value, SymbolicString)


def refuse_unknown_key(index: Any) -> None:
    """Raise if a key or index of a container is symbolic."""
    if isinstance(index, SymbolicString):
        raise GraphBreak(None, "a key is known only at run time")
    if is_symbolic(index):
        raise GraphBreak(index._data, "a list is written at an index known only at run time")


class RuntimePrinter:
    """Prints values at run time; it is called with the arrays of the tensors among them."""

    def __init__(self, values: tuple[Any, ...], options: dict[str, Any], as_repr: bool) -> None:
        self.options = options
        self.as_repr = as_repr
        self.tensors: list[Tensor] = []
        self.template = [self._plan(v) for v in values]

    def _plan(self, value: Any) -> Any:
        if isinstance(value, SymbolicString):
            return SymbolicString(
                tuple(p if isinstance(p, str) else self._hole(p) for p in value.parts)
            )
        if isinstance(value, Tensor) and holds_symbolic(value):
            self.tensors.append(value)
            return _PrintedArray(len(self.tensors) - 1, getattr(value, "kind", None))
        if isinstance(value, (tuple, list)) and holds_symbolic(value):
            return type(value)([self._plan(v) for v in value])
        return value

    def _hole(self, hole: FormatField) -> FormatField:
        return FormatField(self._plan(hole.value), hole.conversion, hole.spec)

    def __call__(self, *arrays: Any) -> None:
        shown = [self._filled(t, arrays) for t in self.template]
        if self.as_repr:
            shown = [repr(s) if isinstance(s, Tensor) else s for s in shown]
        print(*shown, **{"flush": True, **self.options})

    def _filled(self, plan: Any, arrays: tuple[Any, ...]) -> Any:
        if isinstance(plan, _PrintedArray):
            array = np.asarray(arrays[plan.number])
            return plan.kind(array.item()) if plan.kind is not None else Tensor._wrap(array)
        if isinstance(plan, SymbolicString):
            return "".join(
                p if isinstance(p, str) else p.write(self._filled(p.value, arrays))
                for p in plan.parts
            )
        if isinstance(plan, (tuple, list)):
            return type(plan)([self._filled(p, arrays) for p in plan])
        return plan


@dataclass(frozen=True)
class _PrintedArray:
    number: int
    kind: Any


def unfinished(value: Any) -> bool:
    """Whether a string still has format fields."""
    return isinstance(value, (SymbolicString, SymbolicNumber))
