"""Objects that may be one and the same, depending on what a program decides when it runs.

After `c = a if test else b`, the program holds a new tensor for c. Unless somebody writes, that
makes no difference. A write to one of the three shows in another one, and the run decides in which.
"""

from __future__ import annotations

from typing import Any


class Aliases:
    """A symmetric relation between objects, which it keeps alive."""

    def __init__(self) -> None:
        self._others: dict[int, dict[int, Any]] = {}
        self._objects: dict[int, Any] = {}

    def add(self, one: Any, other: Any) -> None:
        """Say that two objects may be the same one."""
        if one is other:
            return
        self._objects |= {id(one): one, id(other): other}
        self._others.setdefault(id(one), {})[id(other)] = other
        self._others.setdefault(id(other), {})[id(one)] = one

    def of(self, thing: Any) -> list[Any]:
        """What may be the same as `thing`."""
        return list(self._others.get(id(thing), {}).values())
