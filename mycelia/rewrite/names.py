"""Unique names."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count


class UniqueNames:
    """Set of used names that generates unused ones."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def unique(self, name: str) -> str:
        """Reserve and return `name`, or `name_1`, `name_2`, ... if it is taken."""
        candidate = name
        numbers = count(1)
        while candidate in self.taken:
            candidate = f"{name}_{next(numbers)}"
        self.taken.add(candidate)
        return candidate
