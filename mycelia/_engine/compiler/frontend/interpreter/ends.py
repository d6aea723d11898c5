"""How statements end: they fall through, break, continue, return, or the run decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber

FALLS, BREAKS, CONTINUES, RETURNS = 0, 1, 2, 3
STOPS = 4  # a loop whose test, a part of its body, does not hold; only inside of loops


@dataclass(frozen=True)
class Mixed:
    """An end that the run decides: `tag` holds one of `kinds`."""

    tag: SymbolicNumber
    kinds: frozenset[int]


End = int | Mixed


def kinds_of(end: End) -> frozenset[int]:
    return end.kinds if isinstance(end, Mixed) else frozenset((end,))


def tag_of(end: End) -> Any:
    return end.tag if isinstance(end, Mixed) else end


def as_end(tag: Any, kinds: frozenset[int]) -> End:
    """An end from its tag: certain where only one kind is possible."""
    if len(kinds) == 1:
        return next(iter(kinds))
    return tag if isinstance(tag, int) else Mixed(tag, kinds)
