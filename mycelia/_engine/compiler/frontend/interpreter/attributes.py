"""Attribute access: instance attributes, properties of user classes, and `hasattr`."""

from __future__ import annotations

import functools
import types
from typing import Any

from mycelia._engine.compiler.frontend.containers import CONTAINERS
from mycelia._engine.compiler.frontend.guards import is_present
from mycelia._engine.compiler.frontend.interpreter.base import InterpreterBase
from mycelia._engine.compiler.frontend.interpreter.user_code import is_read, special_method
from mycelia._engine.compiler.frontend.mutation_journal import MISSING, VariableLocation
from mycelia._engine.compiler.frontend.path_conflict import PathConflict
from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.compiler.frontend.value_structure import MaybeUnbound
from mycelia.tensor.tensor import Tensor

_DATA = (bool, int, float, str, bytes, type(None), tuple, Tensor, *CONTAINERS)


class Attributes(InterpreterBase):
    """Reads attributes, and guards their values and existence."""

    def attribute(self, owner: Any, name: str) -> Any:
        """`owner.name`."""
        held = _held_by(owner)
        is_own = name in held
        member = _member(type(owner), name)
        if isinstance(member, property) and _is_users(member.fget):
            return self.call(member.fget, (owner,), {})
        if not is_own and isinstance(member, functools.cached_property) and _is_users(member.func):
            value = self.call(member.func, (owner,), {})
            self.write_attribute(owner, name, value)
            return value
        if not is_own:
            self._note_absent(owner, name)
            fallback = special_method(owner, "__getattr__") if member is MISSING else None
            if fallback is not None:
                return self.call(fallback, (owner, name), {})
        value = getattr(owner, name)
        if isinstance(value, (PathConflict, MaybeUnbound)):
            why = (
                value.why
                if isinstance(value, PathConflict)
                else f"{name} exists on some paths only"
            )
            raise GraphBreak(None, why)
        if is_own and not self._needs_no_guard(held, name):
            self.tracer.guards.entry(held, name, value)
        elif isinstance(value, _DATA):
            self._guard_member(owner, name, value)
        if self.tracer.store.stale:
            self.tracer.store.refuse_stale(value)
        return self.outside_value(value)

    def has_attribute(self, owner: Any, name: str) -> bool:
        """Whether `owner.name` exists, regardless of its value."""
        held = getattr(owner, "__dict__", None)
        if isinstance(held, dict) and isinstance(held.get(name), MaybeUnbound):
            raise GraphBreak(None, f"{name} exists on some paths only")
        if isinstance(held, dict) and name in held:
            if not self._needs_no_guard(held, name):
                self.tracer.guards.presence(held, name)
            return True
        try:
            self.attribute(owner, name)
        except AttributeError:
            return False
        return True

    def _note_absent(self, owner: Any, name: str) -> None:
        """Guard that an object from outside has no such instance attribute."""
        held = getattr(owner, "__dict__", None)
        if not isinstance(held, dict) or self._needs_no_guard(held, name):
            return
        if not hasattr(type(owner), name) and not is_present(held, name):
            self.tracer.guards.presence(held, name)

    def _guard_member(self, owner: Any, name: str, value: Any) -> None:
        """Guard the value of a class attribute of a user class."""
        cls = owner if isinstance(owner, type) else type(owner)
        home = next((c for c in cls.__mro__ if name in vars(c)), None)
        if home is None or vars(home)[name] is not value or not _is_users_class(home):
            return
        self.tracer.guards.member(home, name, value)
        held = getattr(owner, "__dict__", None)
        if isinstance(held, dict) and not self._needs_no_guard(held, name):
            self.tracer.guards.member(owner, name, value, held)

    def _needs_no_guard(self, held: dict[str, Any], name: str) -> bool:
        """Whether the attribute needs no guard: the program created its object, or writes it."""
        return self.tracer.store.owns(held) or self.tracer.is_changed(VariableLocation(held, name))


def _member(cls: type, name: str) -> Any:
    """The attribute that a class or its bases define."""
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), MISSING)


def _held_by(owner: Any) -> dict[str, Any]:
    """The instance attributes of an object; empty if it has no `__dict__`."""
    held = getattr(owner, "__dict__", None)
    return held if isinstance(held, dict) else {}


def _is_users(fn: Any) -> bool:
    return isinstance(fn, types.FunctionType) and is_read(fn)


def _is_users_class(cls: type) -> bool:
    return not (cls.__module__ or "").startswith(("mycelia.", "builtins"))
