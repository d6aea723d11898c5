"""Equal rows of repeated blocks of a plan, written once."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mycelia._engine.distributed.plan.plan import PlanCollective, PlanRow

_NUMBER = re.compile(r"(?<![^.])\d+(?=\.)")  # of a block, as in "layers.3.weight"
_LONGEST = 2000  # rows of a block that is looked for


@dataclass(frozen=True)
class FoldedRows:
    """Rows that say the same, each in another repetition of a block; `block` counts the blocks.

    Rows that are not repeated are lines of one row, in no block.
    """

    rows: tuple[PlanRow, ...]
    block: int | None = None

    @property
    def row(self) -> PlanRow:
        """The first of them."""
        return self.rows[0]

    @property
    def times(self) -> int:
        return len(self.rows)

    @cached_property
    def name(self) -> str:
        """The operator, or the input: with `*` where the names of folded inputs differ."""
        names = {row.name for row in self.rows}
        return self.row.name if len(names) == 1 else _NUMBER.sub("*", self.row.name)

    @cached_property
    def compute(self) -> float:
        return sum(row.compute for row in self.rows)

    @cached_property
    def talk(self) -> float:
        return sum(row.talk for row in self.rows)

    @cached_property
    def moved(self) -> float:
        return sum(row.moved for row in self.rows)

    @cached_property
    def moves(self) -> list[list[PlanCollective]]:
        """The moves of the first row, each with its like of the other rows."""
        return [list(alike) for alike in zip(*(row.moves for row in self.rows), strict=True)]


def folded(rows: Sequence[PlanRow]) -> list[FoldedRows]:
    """The rows in order; a block that follows upon itself is there once, as lines of several rows.

    Rows are alike if they have the same source line, layouts and moves; names of inputs may differ
    in the numbers of their blocks.
    """
    names: dict[Hashable, int] = {}
    alike = [names.setdefault(_key(row), len(names)) for row in rows]
    places: dict[int, list[int]] = {}
    for place, name in enumerate(alike):
        places.setdefault(name, []).append(place)
    found: list[FoldedRows] = []
    place = blocks = 0
    while place < len(rows):
        length, times = _block(alike, places[alike[place]], place)
        for offset in range(length):
            same = rows[place + offset : place + length * times : length]
            found.append(FoldedRows(tuple(same), blocks if times > 1 else None))
        blocks += times > 1
        place += length * times
    return found


def _block(alike: list[int], places: list[int], start: int) -> tuple[int, int]:
    """The block at a place that folds most rows: its length, and how often it is there."""
    best, most = (1, 1), 0
    for place in places:
        length = place - start
        if (
            place <= start
            or length > _LONGEST
            or alike[start:place] != alike[place : place + length]
        ):
            continue
        times = 2
        while alike[start:place] == alike[start + times * length : start + (times + 1) * length]:
            times += 1
        if length * (times - 1) > most:
            best, most = (length, times), length * (times - 1)
    return best


def _key(row: PlanRow) -> Hashable:
    name = _NUMBER.sub("*", row.name) if row.is_input else row.name
    moves = tuple([(m.kind, m.axes, m.times, m.why, round(m.moved)) for m in row.moves])
    return name, row.where, row.inputs, row.outputs, row.cuts, moves, row.pinned
