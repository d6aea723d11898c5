"""Assignments that signals cannot interrupt: they happen inside one call of C code.

Python handles signals, and exceptions that other threads raise here, between two bytecodes. A C
function that calls no Python code therefore runs completely or not at all, and as the first call
of a `finally` block it runs even if the block before it was interrupted. The attributes must be
slots or plain attributes: no property, no `__setattr__` in Python.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, starmap
from operator import call
from typing import Any

Assignment = tuple[Any, str, Any]  # an object, the name of its attribute, the value

exhaust: Callable[[Iterable[Any]], None] = deque[Any](maxlen=0).extend  # consumes an iterator


def assign_atomically(assignments: Iterable[Assignment]) -> None:
    """Set several attributes in one step."""
    exhaust(starmap(setattr, list(assignments)))


def call_atomically(calls: Iterable[tuple[Any, ...]]) -> None:
    """Call C functions with their arguments, all in one step."""
    exhaust(starmap(call, list(calls)))


class UndoLog:
    """Old values of attributes: `undo` restores all in one step, unless `forget` was called before.

    Both are calls of C code. If an attribute is noted several times, its oldest value is restored.
    `undo` always makes the assignments in `always`.
    """

    def __init__(self, *always: Assignment) -> None:
        self._assignments: list[Assignment] = []
        self._calls: list[tuple[Any, ...]] = []
        steps = starmap(setattr, chain(self._assignments, always))
        self.undo: Callable[[], None] = partial(exhaust, chain(starmap(call, self._calls), steps))
        self.forget: Callable[[], None] = self._assignments.clear

    def note(self, owner: Any, *names: str) -> None:
        """Remember the current values of attributes, before they change."""
        for name in names:
            self._assignments.insert(0, (owner, name, getattr(owner, name)))

    def note_calls(self, *calls: tuple[Any, ...]) -> None:
        """Remember calls that undo a change: C functions with their arguments, in order."""
        self._calls[:0] = calls
