"""Static resolution of names in the code of a function."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from mycelia._engine.ir.primitive import Primitive
from mycelia.nn.cell import Cell
from mycelia.nn.layer.container import CellDict, CellList, SequentialCell

UNKNOWN: Any = object()


@dataclass(frozen=True)
class Scope:
    """Names visible to a function; `first` is its name for the cell."""

    function: FunctionType
    assigned: Collection[str]
    first: str | None
    cell: Cell

    def resolve(self, expression: ast.expr) -> Any:
        """Object of a name, an attribute, or an item that cannot change while the code runs."""
        match expression:
            case ast.Name(id=name):
                return self._named(name)
            case ast.Attribute(value=value, attr=attribute):
                owner = self.resolve(value)
                known = isinstance(owner, (ModuleType, type, Cell, Primitive))
                return getattr(owner, attribute, UNKNOWN) if known else UNKNOWN
            case ast.Subscript(value=value, slice=ast.Constant(value=key)):
                return _item(self.resolve(value), key)
        return UNKNOWN

    def _named(self, name: str) -> Any:
        if name == self.first:
            return self.cell
        if name in self.assigned:
            return UNKNOWN
        held = cells_of(self.function).get(name)
        if held is not None:
            return _content(held)
        found = self.function.__globals__.get(name, UNKNOWN)
        return getattr(builtins, name, UNKNOWN) if found is UNKNOWN else found


def cells_of(function: FunctionType) -> dict[str, Any]:
    """Closure variables of a function."""
    return dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))


def contents(value: Any) -> tuple[Cell, ...] | None:
    """Cells of a container (a cell or a plain list); None for anything else."""
    if isinstance(value, (CellList, SequentialCell, list, tuple)):
        items = tuple(value)
    elif isinstance(value, CellDict):
        items = tuple(value.values())
    else:
        return None
    return items if items and all(isinstance(item, Cell) for item in items) else None


def _item(owner: Any, key: Any) -> Any:
    if contents(owner) is None:
        return UNKNOWN
    try:
        return owner[key]
    except (IndexError, KeyError, TypeError):
        return UNKNOWN


def _content(held: Any) -> Any:
    try:
        return held.cell_contents
    except ValueError:  # not assigned yet
        return UNKNOWN
