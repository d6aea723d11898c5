"""The base class of the interpreter's mixins: the tracer, source positions, truth, names."""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CellType
from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.containers import CONTAINERS
from mycelia._engine.compiler.frontend.interpreter.user_code import special_method
from mycelia._engine.compiler.frontend.interpreter.user_function import Frame
from mycelia._engine.compiler.frontend.mutation_journal import (
    MISSING,
    ClosureCellLocation,
    ContainerLocation,
    VariableLocation,
)
from mycelia._engine.compiler.frontend.path_conflict import PathConflict, conflict_error
from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber, convert, is_symbolic
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.compiler.frontend.value_structure import SymbolicChoice
from mycelia._engine.core.source_location import Span
from mycelia.tensor.tensor import Tensor

_BUILTINS = vars(builtins)


@dataclass(frozen=True, eq=False)
class EnclosingVariables:
    """The variables of a Python function that encloses the program, as closures see them."""

    held: dict[str, Any]
    cells: dict[str, CellType]


class InterpreterBase:
    """The base of the mixins for expressions, statements, branches, loops, and calls."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.foreign: dict[int, EnclosingVariables] = {}
        self.active: list[Any] = []  # the calls being traced, outermost first

    conflict_error = staticmethod(conflict_error)

    def at(self, node: ast.AST, frame: Frame) -> None:
        """Set the source position of the nodes created from here on."""
        self.tracer.span = span_of(node, frame)

    def truth(self, value: Any) -> bool | SymbolicNumber:
        """The truth value of `value`: a bool, or a symbolic bool."""
        if isinstance(value, PathConflict):
            raise conflict_error(value)
        if is_symbolic(self.tracer.bound(value)):
            if value.size != 1:
                bool(Tensor._wrap(_several(value)))  # raises what eager mode raises
            return convert(value, bool)
        if isinstance(value, SymbolicChoice):
            return True
        for name in ("__bool__", "__len__"):
            method = special_method(value, name)
            if method is not None:
                return self.truth(self.call(method, (value,), {}))
        return bool(value)

    def global_value(self, name: str, frame: Frame) -> Any:
        if name in frame.module:
            value = frame.module[name]
            if not self.tracer.is_changed(VariableLocation(frame.module, name)):
                self.tracer.guards.entry(frame.module, name, value)
            return self.outside_value(value)
        return _BUILTINS.get(name, MISSING)

    def assign_name(self, name: str, value: Any, frame: Frame) -> None:
        is_comprehension = frame.definition is None
        holder = frame.variables if is_comprehension else frame.holder_of(name)
        if holder is None:
            self.tracer.write_outside(VariableLocation(frame.module, name), value)
        elif id(holder) in self.foreign:
            place = ClosureCellLocation(self.foreign[id(holder)].cells[name], name)
            self.tracer.write_outside(place, value)
            self.tracer.store.write(VariableLocation(holder, name), value)
        else:
            self.tracer.store.write(VariableLocation(holder, name), value)

    def wrapped_index(self, index: SymbolicNumber, count: int) -> SymbolicNumber:
        """A possibly negative index, wrapped to 0 .. count - 1."""
        shifted = index + count
        place = convert((index.strong < 0), int) * shifted + convert(index.strong >= 0, int) * index
        return place

    def outside_value(self, value: Any) -> Any:
        """A value that may come from outside the program: parameters become inputs."""
        store = self.tracer.store
        is_outside = isinstance(value, CONTAINERS) and not store.owns(value)
        if is_outside and not self.tracer.is_changed(ContainerLocation(value, store.stale)):
            self.tracer.guards.contents(value)
        return self.tracer.bound(value)

    # ---- implemented by other mixins --------------------------------------------------------

    def attribute(self, owner: Any, name: str) -> Any:
        raise NotImplementedError

    def write_attribute(self, owner: Any, name: str, value: Any) -> None:
        raise NotImplementedError

    def branches(self, index: SymbolicNumber, thunks: Sequence[Callable[[], Any]]) -> Any:
        raise NotImplementedError

    def call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError


def span_of(node: ast.AST, frame: Frame) -> Span:
    """The source position of a syntax tree node."""
    found = getattr(node, "mycelia_span", None)
    if found is None:
        current: Frame | None = frame
        while current is not None and current.definition is None:
            current = current.outer
        definition = current.definition if current is not None else None
        file = definition.file if definition else "<unknown>"
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", None)
        end = getattr(node, "end_col_offset", None)
        if getattr(node, "end_lineno", line) != line:
            end = len(linecache.getline(file, line).rstrip())
        found = Span(file, line, column, end, definition.name if definition else "<unknown>")
        node.mycelia_span = found  # type: ignore[attr-defined]
    return found


def _several(value: Tensor) -> Any:
    return np.zeros(value.shape, bool)
