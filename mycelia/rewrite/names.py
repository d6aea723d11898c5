"""Names that no two things share."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count


class UniqueNames:
    """The names that are taken, and new ones beside them."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def unique(self, name: str) -> str:
        """`name`, or `name_1`, `name_2`, ... if it is taken; taken from now on."""
        found = name
        numbers = count(1)
        while found in self.taken:
            found = f"{name}_{next(numbers)}"
        self.taken.add(found)
        return found
