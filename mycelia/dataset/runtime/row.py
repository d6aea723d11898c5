"""Rows in a run: single rows, or blocks that a worker processes together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia.dataset.formats.reader import RowReader
from mycelia.dataset.formats.values import row_of
from mycelia.dataset.runtime.order import RowOrder

Values = tuple[Any, ...]
Column = Any  # one stacked array, or a list with one value per row


@dataclass(slots=True)
class Row:
    """A row at a position in the stream.

    `epoch` and `index` are its random key. A row without values is loaded by the first user,
    usually a worker.
    """

    epoch: int
    index: int
    origin: str | int
    values: Values | None = None
    reader: RowReader | None = None

    def load(self) -> Values:
        """The values, read on first use."""
        if self.values is None:
            assert self.reader is not None and isinstance(self.origin, int)
            self.values = row_of(self.reader.row(self.origin), self.reader.columns)
        return self.values

    def name(self) -> str:
        """The name of the row in errors."""
        if self.reader is not None and isinstance(self.origin, int):
            return self.reader.describe(self.origin)
        return str(self.origin)


class RowBlock:
    """Several rows: unread ones of a reader, or values by column."""

    __slots__ = ("columns", "keys", "names", "parts", "read")

    def __init__(
        self,
        keys: Sequence[tuple[int, int]],
        names: Callable[[int], str],
        columns: Sequence[Column] | None = None,
        read: Callable[[], Sequence[Column]] | None = None,
        parts: Callable[[int], RowBlock] | None = None,
    ) -> None:
        self.keys = keys  # epoch and index of each row
        self.names = names
        self.columns = columns
        self.read = read
        self.parts = parts

    @classmethod
    def of_order(cls, order: RowOrder, reader: RowReader) -> RowBlock:
        """Unread rows."""
        origins = order.origins.tolist()
        keys = list(zip(order.turns.tolist(), order.places.tolist()))

        def read() -> Sequence[Column]:
            if hasattr(reader, "gather"):
                return reader.gather(order.origins)
            many = getattr(reader, "rows", None)
            rows = many(origins) if many is not None else [reader.row(i) for i in origins]
            return by_column([row_of(row, reader.columns) for row in rows])

        return cls(
            keys,
            lambda place: reader.describe(origins[place]),
            read=read,
            parts=lambda place: cls.of_order(order[place : place + 1], reader),
        )

    @classmethod
    def of_rows(cls, rows: Sequence[Row]) -> RowBlock:
        """Rows that arrived one by one."""
        reader = rows[0].reader
        if reader is not None and all(r.values is None and r.reader is reader for r in rows):
            columns = zip(*((row.origin, row.index, row.epoch) for row in rows))
            return cls.of_order(RowOrder(*map(np.array, columns)), reader)
        return cls(
            [(row.epoch, row.index) for row in rows],
            lambda place: rows[place].name(),
            read=lambda: by_column([row.load() for row in rows]),
            parts=lambda place: cls.of_rows(rows[place : place + 1]),
        )

    def load(self) -> Sequence[Column]:
        """The values, by column."""
        if self.columns is None:
            assert self.read is not None
            self.columns, self.read = self.read(), None
        return self.columns

    def part(self, place: int) -> RowBlock:
        """One row, as it was before it was read."""
        assert self.parts is not None
        return self.parts(place)

    def cut(self, begin: int, end: int) -> RowBlock:
        """Some of the loaded rows."""
        if begin == 0 and end >= len(self):
            return self
        columns = [column[begin:end] for column in self.load()]
        return RowBlock(self.keys[begin:end], lambda place: self.names(begin + place), columns)

    def __len__(self) -> int:
        return len(self.keys)

    def row(self, place: int) -> Row:
        """One row."""
        values = tuple(entry(column, place) for column in self.load())
        return Row(*self.keys[place], self.names(place), values)

    def __iter__(self) -> Iterator[Row]:
        return (self.row(place) for place in range(len(self)))


def by_column(rows: Sequence[Values]) -> list[Column]:
    """The values of rows as one list per column."""
    return [list(column) for column in zip(*rows)]


def entry(column: Column, place: int) -> Any:
    """One value of a column; a number becomes a 0-dimensional array."""
    return column[place, ...] if isinstance(column, np.ndarray) else column[place]
