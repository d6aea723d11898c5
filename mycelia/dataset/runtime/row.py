"""The row that flows through a run: its values, or the way to load them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mycelia.dataset.formats.reader import Reader
from mycelia.dataset.formats.values import row_of


@dataclass(slots=True)
class Row:
    """A row at a place in the stream.

    `epoch` and `index` are its key to random numbers. A row without values is loaded by whoever
    needs them first, mostly a worker.
    """

    epoch: int
    index: int
    origin: str | int
    values: tuple[Any, ...] | None = None
    reader: Reader | None = None

    def load(self) -> tuple[Any, ...]:
        """The values."""
        if self.values is None:
            assert self.reader is not None and isinstance(self.origin, int)
            self.values = row_of(self.reader.row(self.origin), self.reader.columns)
        return self.values

    def name(self) -> str:
        """How errors call the row."""
        if self.reader is not None and isinstance(self.origin, int):
            return self.reader.describe(self.origin)
        return str(self.origin)
