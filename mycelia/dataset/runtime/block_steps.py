"""The steps that workers apply to blocks of rows: map operations and column selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from mycelia._engine.runtime.host_to_device import aligned
from mycelia.dataset.formats.values import row_of
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.operation import put_into
from mycelia.dataset.runtime.operation_calls import calls_of
from mycelia.dataset.runtime.operator import RunOptions
from mycelia.dataset.runtime.process.process_pool import RemoteError, WorkerStartError
from mycelia.dataset.runtime.row import Column, Row, RowBlock, Values, by_column, entry
from mycelia.dataset.runtime.row_errors import failed
from mycelia.dataset.runtime.run_metrics import StepMeter

_SMALL = 32 * 1024  # row size in bytes below which stacked rows are faster


class BlockStep(Protocol):
    """Changes the columns of a loaded block."""

    def __call__(self, block: RowBlock) -> None: ...


class SelectColumns:
    """Selects columns."""

    def __init__(self, node: O.ProjectNode) -> None:
        present = node.child.columns()
        self._places = [present.index(name) for name in node.names]

    def __call__(self, block: RowBlock) -> None:
        columns = block.load()
        block.columns = [columns[place] for place in self._places]


class ApplyOperations:
    """Applies operations to columns.

    Operations that support stacked rows receive them, as long as the rows are small. Large rows
    pass through the operations one by one, so that their pixels stay in the processor's cache.
    """

    def __init__(self, node: O.MapNode, options: RunOptions, meter: StepMeter) -> None:
        present = node.child.columns()
        self._calls = calls_of(node, options, meter)
        self._end = len(self._calls)
        self._taken = [present.index(name) for name in node.taken]
        self._given = node.given
        self._places = [
            (0, node.given.index(name)) if name in node.given else (1, present.index(name))
            for name in node.columns()
        ]

    def __call__(self, block: RowBlock) -> None:
        before = block.load()
        values: list[Column] = [before[place] for place in self._taken]
        done = 0
        while done < self._end:
            values, done = self._advance(values, done, block)
        self._check_count(values, block)
        sides = (values, before)
        block.columns = [sides[side][place] for side, place in self._places]

    def _advance(
        self, values: list[Column], done: int, block: RowBlock
    ) -> tuple[list[Column], int]:
        """The values after one more operation on stacked rows, or after several row by row."""
        if self._calls[done].crew is not None:
            return self._run_remotely(values, done, block), done + 1
        made = self._run_stacked(values, done)
        if made is not None:
            return made, done + 1
        return self._run_row_by_row(values, done, block)

    def _run_stacked(self, values: list[Column], done: int) -> list[Column] | None:
        """Apply an operation to stacked rows; None if it cannot or rows are large."""
        if not self._calls[done].takes_many:
            return None
        stacked = [_stacked(column) for column in values]
        if any(column is None for column in stacked):
            return None
        try:
            made = self._calls[done].run_many(tuple(stacked))  # type: ignore[arg-type]
        except Exception:
            return None  # row by row, the error names the row that caused it
        return None if made is None else list(made)

    def _run_remotely(self, values: list[Column], done: int, block: RowBlock) -> list[Column]:
        """Apply a user's function to all rows in another process."""
        rows = [_row(values, place) for place in range(len(block))]
        try:
            made = self._calls[done].run_remotely(rows, block.keys)
            last = done + 1 == self._end
            return by_column([row_of(row, self._given) for row in made] if last else made)
        except WorkerStartError:
            raise
        except Exception as error:
            place = error.place if isinstance(error, RemoteError) else 0
            raise self._failed(block, place, done, error) from error

    def _run_row_by_row(
        self, values: list[Column], done: int, block: RowBlock
    ) -> tuple[list[Column], int]:
        """Apply operations row by row from `done` on, up to one that may take stacked rows.

        If the first row is too large for stacking, rows continue to the end, or to another process.
        """
        ahead = range(done + 1, self._end)
        elsewhere = next((k for k in ahead if self._calls[k].crew is not None), self._end)
        stop = next((k for k in ahead if self._calls[k].takes_many), self._end)
        first = self._run_row(_row(values, 0), done, min(stop, elsewhere), block, 0)
        if stop < elsewhere and not all(map(_is_small, first)):
            first = self._run_row(first, stop, elsewhere, block, 0)
            stop = elsewhere
        stop = min(stop, elsewhere)
        if stop == self._end:
            return self._run_to_end(first, values, done, block), stop
        return by_column([first, *self._remaining_rows(values, done, stop, block, 1)]), stop

    def _run_to_end(
        self, first: Values, values: list[Column], done: int, block: RowBlock
    ) -> list[Column]:
        """Apply all remaining operations; the last one writes into stacked arrays.

        The first row is already there.
        """
        whole = _allocated(len(block), first)
        if whole is None:
            return by_column([first, *self._remaining_rows(values, done, self._end, block, 1)])
        put_into(first, [column[0, ...] for column in whole])
        for place in range(1, len(block)):
            row = self._run_row(_row(values, place), done, self._end - 1, block, place)
            misfit = self._run_last(row, [column[place, ...] for column in whole], block, place)
            if misfit is not None:
                before = [_row(whole, p) for p in range(place)]
                later = self._remaining_rows(values, done, self._end, block, place + 1)
                return by_column([*before, misfit, *later])
        return list(whole)

    def _remaining_rows(
        self, values: list[Column], begin: int, end: int, block: RowBlock, first: int
    ) -> list[Values]:
        """The rows from `first` on after some operations."""
        indices = range(first, len(block))
        return [self._run_row(_row(values, place), begin, end, block, place) for place in indices]

    def _run_row(self, row: Values, begin: int, end: int, block: RowBlock, place: int) -> Values:
        """One row after some operations."""
        at = begin
        key = block.keys[place]
        try:
            for at in range(begin, end):
                row = self._calls[at].run(row, key)
            return row if end < self._end else row_of(row, self._given)
        except Exception as error:
            raise self._failed(block, place, at, error) from error

    def _run_last(
        self, row: Values, outs: list[np.ndarray], block: RowBlock, place: int
    ) -> Values | None:
        """Apply the last operation to a row: write its results into arrays, or return the row."""
        try:
            misfit = self._calls[-1].run_into(row, block.keys[place], outs)
            return None if misfit is None else row_of(misfit, self._given)
        except Exception as error:
            raise self._failed(block, place, self._end - 1, error) from error

    def _failed(self, block: RowBlock, place: int, at: int, error: Exception) -> RuntimeError:
        row = Row(*block.keys[place], block.names(place))
        return failed("map", row, error, self._calls[at].operation)

    def _check_count(self, values: list[Column], block: RowBlock) -> None:
        if len(values) != len(self._given):
            try:
                row_of(_row(values, 0), self._given)
            except ValueError as error:
                raise self._failed(block, 0, self._end - 1, error) from error


def _row(columns: list[Column], place: int) -> Values:
    return tuple([entry(column, place) for column in columns])


def _stacked(column: Column) -> np.ndarray | None:
    """The rows of a column as one array, if they are small and of equal shape and type."""
    if isinstance(column, np.ndarray):
        return column if column.nbytes <= _SMALL * len(column) else None
    first = column[0]
    if not isinstance(first, np.ndarray) or first.dtype.kind in "USO" or not _is_small(first):
        return None
    kind, shape = first.dtype, first.shape
    alike = all(
        isinstance(value, np.ndarray) and value.shape == shape and value.dtype == kind
        for value in column
    )
    return np.stack(column) if alike else None


def _allocated(count: int, first: Values) -> list[np.ndarray] | None:
    """Arrays for `count` rows like the first; None if such rows cannot be stacked."""
    if count == 1 or not all(map(_is_numeric, first)):
        return None
    try:
        return [aligned((count, *value.shape), value.dtype) for value in first]
    except MemoryError:
        return None  # a batch reports the error if it needs to stack them


def _is_numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "USO"


def _is_small(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.nbytes <= _SMALL


def run_steps(steps: Sequence[BlockStep], block: RowBlock) -> RowBlock:
    """The block after all steps."""
    for step in steps:
        step(block)
    return block
