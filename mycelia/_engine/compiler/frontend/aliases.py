"""May-alias relations: objects that may be identical, depending on a runtime decision.

After `c = a if test else b`, the program holds a new tensor for c. This makes no difference until
one of the three is written: the write must show in another one, and in which is known at run time.
"""

from __future__ import annotations

from typing import Any


class Aliases:
    """A symmetric relation between objects; it keeps them alive."""

    def __init__(self) -> None:
        self._others: dict[int, dict[int, Any]] = {}
        self._objects: dict[int, Any] = {}

    def add(self, one: Any, other: Any) -> None:
        """Record that two objects may be identical."""
        if one is other:
            return
        self._objects |= {id(one): one, id(other): other}
        self._others.setdefault(id(one), {})[id(other)] = other
        self._others.setdefault(id(other), {})[id(one)] = one

    def of(self, thing: Any) -> list[Any]:
        """The objects that may be identical to `thing`."""
        return list(self._others.get(id(thing), {}).values())
