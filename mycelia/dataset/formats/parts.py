"""Readers of datasets in several parts, usually files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.pieces import Pieces

Row = tuple[Any, ...]


class RowSource(Protocol):
    """Some rows of a dataset, usually those of one file."""

    def __len__(self) -> int: ...

    def row(self, index: int) -> Row:
        """One row."""

    def place(self, index: int) -> str:
        """Where a row is stored: a file and a line."""


class PieceRows:
    """One row per piece of a text file."""

    def __init__(self, pieces: Pieces, parse: Callable[[str], Row]) -> None:
        self._pieces = pieces
        self._parse = parse
        self.place = pieces.place

    def __len__(self) -> int:
        return len(self._pieces)

    def row(self, index: int) -> Row:
        return self._parse(self._pieces.text(index))


class PairRows:
    """Rows of two texts: the pieces of two parallel files."""

    def __init__(
        self, left: Pieces, right: Pieces, parse: Callable[[str, str], Row] = lambda *pair: pair
    ) -> None:
        self._sides = (left, right)
        self._parse = parse

    def __len__(self) -> int:
        return len(self._sides[0])

    def row(self, index: int) -> Row:
        left, right = self._sides
        return self._parse(left.text(index), right.text(index))

    def place(self, index: int) -> str:
        return " and ".join(side.place(index) for side in self._sides)


class ListedRows:
    """Rows in memory, each with its location, completed on access."""

    def __init__(
        self, rows: Sequence[tuple[str, Row]], finish: Callable[..., Row] = lambda *row: row
    ) -> None:
        self._rows = rows
        self._finish = finish

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> Row:
        return self._finish(*self._rows[index][1])

    def place(self, index: int) -> str:
        return self._rows[index][0]


class ConcatenatedReader:
    """The rows of all parts, in order."""

    def __init__(self, owner: str, columns: Sequence[str], parts: Sequence[RowSource]) -> None:
        self.columns = tuple(columns)
        self._owner = owner
        self._parts = parts
        self._ends = np.cumsum([len(part) for part in parts])
        if not len(self):
            raise problem(
                RuntimeError,
                f"{owner}: the files hold no rows",
                expected=f"the columns {', '.join(columns)}",
            )

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @property
    def file_sizes(self) -> list[int]:
        """How many rows each part has."""
        return [len(part) for part in self._parts]

    def row(self, index: int) -> Row:
        part, inside = self._find(index)
        return part.row(inside)

    def describe(self, index: int) -> str:
        part, inside = self._find(index)
        return f"row {index} of {self._owner} ({part.place(inside)})"

    def _find(self, index: int) -> tuple[RowSource, int]:
        number = int(np.searchsorted(self._ends, index, "right"))
        return self._parts[number], index - int(self._ends[number]) + len(self._parts[number])


def present(owner: str, path: Path) -> Path:
    """Check that a file exists, and return its path."""
    if not path.is_file():
        raise problem(RuntimeError, f"{owner}: a file of the dataset is missing", got=str(path))
    return path
