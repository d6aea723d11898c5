"""Assignments to subscripts, attributes, and containers."""

from __future__ import annotations

from typing import Any

from mycelia._engine.compiler.frontend.containers import CONTAINERS
from mycelia._engine.compiler.frontend.interpreter.base import InterpreterBase
from mycelia._engine.compiler.frontend.interpreter.formatted_strings import refuse_unknown_key
from mycelia._engine.compiler.frontend.interpreter.user_code import special_method
from mycelia._engine.compiler.frontend.mutation_journal import (
    MISSING,
    ContainerLocation,
    VariableLocation,
)
from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber
from mycelia._engine.core.errors import located
from mycelia.tensor.tensor import Tensor


class AssignmentInterpreter(InterpreterBase):
    """Performs assignments; changed objects from outside become program state."""

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        if isinstance(owner, Tensor):
            owner[_strong(index)] = value.strong if isinstance(value, SymbolicNumber) else value
            return
        method = special_method(owner, "__setitem__")
        if method is not None:
            self.call(method, (owner, index, value), {})
            return
        self.change(owner)
        refuse_unknown_key(index)
        owner[index] = value

    def delete_item(self, owner: Any, index: Any) -> None:
        """`del owner[index]`."""
        method = special_method(owner, "__delitem__")
        if method is not None:
            self.call(method, (owner, index), {})
            return
        self.change(owner)
        refuse_unknown_key(index)
        del owner[index]

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """`owner.name = value`, through `__setattr__` if the user's class defines it."""
        method = special_method(owner, "__setattr__")
        if method is not None:
            self.call(method, (owner, name, value), {})
            return
        if _is_frozen(owner):
            setattr(owner, name, value)  # raises what eager mode raises
        self.write_attribute(owner, name, value)

    def write_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Write an attribute; objects from outside are updated after each run."""
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
            object.__setattr__(owner, name, value)
        elif name in held.get("_cells", ()) or is_part(value):
            raise self.outside(f"the children of {type(owner).__name__}: {name}")
        else:
            self.tracer.write_outside(VariableLocation(held, name), value)

    def delete_attribute(self, owner: Any, name: str) -> None:
        """`del owner.name`."""
        method = special_method(owner, "__delattr__")
        if method is not None:
            self.call(method, (owner, name), {})
            return
        if _is_frozen(owner):
            delattr(owner, name)  # raises what eager mode raises
        self.remove_attribute(owner, name)

    def remove_attribute(self, owner: Any, name: str) -> None:
        """Remove an attribute; objects from outside are updated after each run."""
        held = getattr(owner, "__dict__", None)
        if not isinstance(held, dict) or isinstance(owner, Tensor):
            raise self.outside(f"{type(owner).__name__}.{name}")
        if name not in held or name in held.get("_cells", ()):
            self.attribute(owner, name)  # raises what eager mode raises, if there is none
            raise self.outside(f"the children of {type(owner).__name__}: {name}")
        if self.tracer.store.owns(held):
            self.tracer.store.note_container(held)
            del held[name]
        else:
            self.tracer.write_outside(VariableLocation(held, name), MISSING)

    def change(self, container: Any) -> None:
        """Record that a container is about to change."""
        if not isinstance(container, CONTAINERS):
            raise self.outside(f"a {type(container).__name__} created outside")
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
            "and to objects created in the function",
            fix="keep the state in a Parameter, or return the new value",
            span=self.tracer.span,
        )


def _is_frozen(owner: Any) -> bool:
    parameters = getattr(type(owner), "__dataclass_params__", None)
    return parameters is not None and parameters.frozen


def is_part(value: Any) -> bool:
    """Whether a cell registers a value that is assigned to an attribute: a cell or parameter."""
    return hasattr(value, "construct") or getattr(value, "_is_parameter", False)


def _strong(index: Any) -> Any:
    if isinstance(index, SymbolicNumber):
        return index.strong
    return tuple(map(_strong, index)) if isinstance(index, tuple) else index
