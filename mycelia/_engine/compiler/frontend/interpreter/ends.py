"""How statements end: fall through, break, continue, return, or decided at run time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber

FALLS, BREAKS, CONTINUES, RETURNS = 0, 1, 2, 3
STOPS = 4  # the test at the start of a loop body failed; only inside loops


@dataclass(frozen=True)
class Mixed:
    """An end decided at run time: `tag` is one of `kinds`."""

    tag: SymbolicNumber
    kinds: frozenset[int]


End = int | Mixed


def kinds_of(end: End) -> frozenset[int]:
    return end.kinds if isinstance(end, Mixed) else frozenset((end,))


def tag_of(end: End) -> Any:
    return end.tag if isinstance(end, Mixed) else end


def as_end(tag: Any, kinds: frozenset[int]) -> End:
    """An end from its tag: a constant if only one kind is possible."""
    if len(kinds) == 1:
        return next(iter(kinds))
    return tag if isinstance(tag, int) else Mixed(tag, kinds)
