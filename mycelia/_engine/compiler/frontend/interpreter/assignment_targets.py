"""Writes to subscripts, attributes, and containers."""

from __future__ import annotations

from typing import Any

from mycelia._engine.compiler.frontend.containers import CONTAINERS
from mycelia._engine.compiler.frontend.interpreter.base import InterpreterBase
from mycelia._engine.compiler.frontend.mutation_journal import ContainerLocation, VariableLocation
from mycelia._engine.compiler.frontend.symbolic import GraphBreak, SymbolicNumber, is_symbolic
from mycelia._engine.core.errors import located
from mycelia.tensor.tensor import Tensor


class AssignmentInterpreter(InterpreterBase):
    """Writes what a statement assigns; what was there before the program is state of it."""

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        if isinstance(owner, Tensor):
            owner[_strong(index)] = value.strong if isinstance(value, SymbolicNumber) else value
            return
        self.change(owner)
        if is_symbolic(index):
            raise GraphBreak(index._data, "a list is written at a place only known at run time")
        owner[index] = value

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """`owner.name = value`; what was there before the program is written after each run."""
        setter = getattr(getattr(type(owner), name, None), "fset", None)
        held = getattr(owner, "__dict__", None)
        if setter is not None:
            self.call(setter, (owner, value), {})
        elif isinstance(held, dict) and name in held.get("_params", ()):
            setattr(owner, name, value.strong if isinstance(value, SymbolicNumber) else value)
        elif not isinstance(held, dict) or isinstance(owner, Tensor):
            raise self.outside(f"{type(owner).__name__}.{name}")
        elif self.tracer.store.owns(held):
            self.tracer.store.note_container(held)
            setattr(owner, name, value)
        elif name in held.get("_cells", ()) or is_part(value):
            raise self.outside(f"the parts of {type(owner).__name__}: {name}")
        else:
            self.tracer.write_outside(VariableLocation(held, name), value)

    def change(self, container: Any) -> None:
        """Say that a container is about to change."""
        if not isinstance(container, CONTAINERS):
            raise self.outside(f"a {type(container).__name__} made outside")
        store = self.tracer.store
        store.refuse_stale(container)
        if not store.owns(container):
            self.tracer.note_outside(ContainerLocation(container, store.stale))
        store.note_container(container)

    def outside(self, what: str) -> Exception:
        return located(
            RuntimeError,
            f"a compiled function cannot change {what}",
            expected="changes to Parameters, to attributes and containers of cells and objects, "
            "and to what the function made itself",
            fix="keep the state in a Parameter, or return the new value",
            span=self.tracer.span,
        )


def is_part(value: Any) -> bool:
    """Whether a value becomes a part of a cell when it is assigned to an attribute."""
    return hasattr(value, "construct") or getattr(value, "_is_parameter", False)


def _strong(index: Any) -> Any:
    if isinstance(index, SymbolicNumber):
        return index.strong
    return tuple(map(_strong, index)) if isinstance(index, tuple) else index
