"""Guards: the compile-time constants that a program relies on, compared before every call."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from mycelia._engine.compiler.frontend.containers import contents_of
from mycelia._engine.core import settings
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.network_version import NetworkVersion
from mycelia.tensor.tensor import Tensor

_PLAIN = (bool, int, float, str, bytes, type(None), DType)
_MOST_ELEMENTS = 1000  # of a container that is compared before each call


class Guards:
    """The guards of one program: everything it read from outside that did not become an input."""

    def __init__(self) -> None:
        self._checks: dict[Any, Callable[[], bool]] = {}
        self._cells: list[tuple[Any, frozenset[str], dict[str, Any]]] = []
        self._announced: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = []
        self._changes = NetworkVersion.count
        self._budget = settings.memory_budget()

    def entry(self, holder: dict[str, Any], name: str, value: Any) -> None:
        """Guard the value of a name in a module or object."""
        self._checks[id(holder), name] = lambda: unchanged(holder.get(name), value)

    def presence(self, holder: dict[str, Any], name: str) -> None:
        """Guard whether an object has an instance attribute."""
        before = is_present(holder, name)
        self._checks.setdefault((id(holder), name), lambda: is_present(holder, name) == before)

    def member(
        self, owner: Any, name: str, value: Any, holder: dict[str, Any] | None = None
    ) -> None:
        """Guard a class attribute; an instance attribute in `holder` would hide it."""
        key = id(owner if holder is None else holder), name
        self._checks[key] = lambda: unchanged(getattr(owner, name, None), value)

    def has_entry(self, holder: dict[str, Any], name: str) -> bool:
        """Whether `entry` guards this name."""
        return (id(holder), name) in self._checks

    def fact(self, ask: Callable[..., bool], args: tuple[Any, ...], before: bool) -> None:
        """Guard that a framework function returns the same for these arguments."""
        self._checks[ask, args] = lambda: ask(*args) == before

    def announced(self, ask: Callable[..., Any], args: tuple[Any, ...], before: Any) -> None:
        """Like `fact`, for results that change only together with a call of `note_change`."""
        self._announced.append((ask, args, before))

    def cell(self, cell: Any, value: Any) -> None:
        """Guard a variable of an enclosing Python function."""
        self._checks[id(cell), "cell"] = lambda: unchanged(cell.cell_contents, value)

    def contents(self, container: Any) -> None:
        """Guard the contents of a list, dict, or set from outside."""
        if len(container) > _MOST_ELEMENTS:
            return
        before = contents_of(container)
        self._checks[id(container), "contents"] = lambda: _same_contents(container, before)

    def tensor(self, tensor: Tensor) -> None:
        """Guard the values of a tensor from outside that the program uses as a constant."""
        reference, data = weakref.ref(tensor), tensor._data

        def check() -> bool:
            found = reference()
            return found is None or (found._data is data and not found._shared)

        self._checks[id(tensor), "tensor"] = check

    def network(self, cell: Any, changing: frozenset[str]) -> None:
        """Guard the flags and children of a cell; the attributes `changing` may change."""
        self._cells.append((cell, changing, flags(cell, changing)))

    def hold(self) -> bool:
        """Whether all guards hold."""
        if not all(check() for check in self._checks.values()):
            return False
        if self._changes == NetworkVersion.count:
            return True
        if self._budget != settings.memory_budget():
            return False
        if any(flags(cell, free) != before for cell, free, before in self._cells):
            return False
        if any(ask(*args) != before for ask, args, before in self._announced):
            return False
        self._changes = NetworkVersion.count
        return True


def flags(cell: Any, changing: frozenset[str]) -> dict[str, Any]:
    """What a program relies on in a cell: plain attributes, hooks, and child cells."""
    plain = [(k, v) for k, v in cell.__dict__.items() if isinstance(v, _PLAIN)]
    found: dict[str, Any] = {k: v for k, v in plain if k not in changing}
    hooks = cell.__dict__.get("hooks")
    found["<hooks>"] = None if hooks is None else hooks.registered()
    found["<cells>"] = tuple(map(id, cell._cells.values()))
    found["<parameters>"] = tuple(map(id, cell._params.values()))
    return found


def is_present(holder: dict[str, Any], name: str) -> bool:
    """Whether an object has an attribute, given its `__dict__`; cells have three such dicts."""
    parts = holder, holder.get("_params", ()), holder.get("_cells", ())
    return any(name in part for part in parts)


def unchanged(found: Any, before: Any) -> bool:
    """Whether a value is the same object, or an equal plain value of the same type."""
    if found is before:
        return True
    return type(found) is type(before) and isinstance(found, _PLAIN) and found == before


def _same_contents(container: Any, before: Any) -> bool:
    if len(container) != len(before):
        return False
    if isinstance(container, dict):
        return all(map(unchanged, container, before)) and all(
            map(unchanged, container.values(), before.values())
        )
    if isinstance(container, (list, deque)):
        return all(map(unchanged, container, before))
    return bool(container == before)
