"""What a kind of differential test provides: random cases, their check, and simpler cases.

A kind is a module in `tests/fuzz/kinds`; its name is the command's argument: `scripts/fuzz NAME`.
"""

from __future__ import annotations

import pkgutil
import random
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol, cast

from tests.fuzz import kinds


class Kind(Protocol):
    """The names that a module in `tests/fuzz/kinds` defines."""

    Case: type
    """A frozen dataclass whose fields are None, bool, int, float, str, or tuples and dicts of them,
    so that a case is saved as JSON (see `tests.fuzz.corpus`)."""

    SECONDS: int
    """The time limit of one case; a case that takes longer fails."""

    def generate(self, rng: random.Random) -> Any:
        """A random case; `rng` is the only source of randomness."""

    def check(self, case: Any) -> str:
        """What is wrong with a case, or nothing.

        The first line names the fault without any numbers of the case: cases with equal first lines
        count as one fault, and shrinking keeps it. Further lines hold details.
        """

    def smaller(self, case: Any) -> Iterator[Any]:
        """Simpler cases than this one, the greatest simplifications first."""

    def label(self, case: Any) -> str:
        """The group that a case is counted in, in the summary."""


def names() -> list[str]:
    """The names of all kinds."""
    return sorted(module.name for module in pkgutil.iter_modules(kinds.__path__))


def find(name: str) -> Kind:
    """The kind of that name."""
    return cast(Kind, import_module(f"{kinds.__name__}.{name}"))
