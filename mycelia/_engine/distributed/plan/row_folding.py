"""Folding of repeated blocks in a plan: equal rows are written once."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mycelia._engine.distributed.plan.plan import PlanCollective, PlanRow

_NUMBER = re.compile(r"(?<![^.])\d+(?=\.)")  # of a block, as in "layers.3.weight"
_LONGEST = 2000  # rows of the longest block that is searched for


@dataclass(frozen=True)
class FoldedRows:
    """Equal rows from all repetitions of a block; `block` is the number of the block.

    A row that is not repeated is folded alone, with `block` None.
    """

    rows: tuple[PlanRow, ...]
    block: int | None = None

    @property
    def row(self) -> PlanRow:
        """The first row."""
        return self.rows[0]

    @property
    def times(self) -> int:
        return len(self.rows)

    @cached_property
    def name(self) -> str:
        """The operator or input; `*` replaces the block numbers of folded inputs."""
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
        """The moves of the first row, each grouped with the equal moves of the other rows."""
        return [list(equal) for equal in zip(*(row.moves for row in self.rows), strict=True)]


def folded(rows: Sequence[PlanRow]) -> list[FoldedRows]:
    """The rows in order, with consecutive repetitions of a block folded into one.

    Rows are equal if they have the same source line, layouts, and moves; names of inputs may
    differ in the numbers of their blocks.
    """
    classes: dict[Hashable, int] = {}
    class_of = [classes.setdefault(_key(row), len(classes)) for row in rows]
    positions: dict[int, list[int]] = {}
    for position, number in enumerate(class_of):
        positions.setdefault(number, []).append(position)
    lines: list[FoldedRows] = []
    start = blocks = 0
    while start < len(rows):
        length, times = _block(class_of, positions[class_of[start]], start)
        for offset in range(length):
            same = rows[start + offset : start + length * times : length]
            lines.append(FoldedRows(tuple(same), blocks if times > 1 else None))
        blocks += times > 1
        start += length * times
    return lines


def _block(classes: list[int], positions: list[int], start: int) -> tuple[int, int]:
    """The block at `start` that folds most rows: its length and its number of repetitions."""
    best, most = (1, 1), 0
    for end in positions:
        length = end - start
        if end <= start or length > _LONGEST or classes[start:end] != classes[end : end + length]:
            continue
        times = 2
        while classes[start:end] == classes[start + times * length : start + (times + 1) * length]:
            times += 1
        if length * (times - 1) > most:
            best, most = (length, times), length * (times - 1)
    return best


def _key(row: PlanRow) -> Hashable:
    name = _NUMBER.sub("*", row.name) if row.is_input else row.name
    moves = tuple([(m.kind, m.axes, m.times, m.why, round(m.moved)) for m in row.moves])
    return name, row.where, row.inputs, row.outputs, row.cuts, moves, row.pinned
