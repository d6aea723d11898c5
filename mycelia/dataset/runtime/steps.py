"""What workers do to blocks of rows: the operations of maps, and the choice of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from mycelia.dataset.formats.values import row_of
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.runtime.failure import failed, name_of
from mycelia.dataset.runtime.metering import Meter
from mycelia.dataset.runtime.operator import Options
from mycelia.dataset.runtime.process.crew import Crew, RemoteError
from mycelia.dataset.runtime.randomness import borrowed_generator
from mycelia.dataset.runtime.row import Block, Column, Row, Values, by_column, entry

_SEEDS = 2**32 - 1
_SMALL = 32 * 1024  # bytes of a row below which work on stacked rows pays


class Step(Protocol):
    """Changes the columns of a loaded block."""

    def __call__(self, block: Block) -> None: ...


class Choose:
    """Some columns of each row."""

    def __init__(self, node: O.Project) -> None:
        present = node.child.columns()
        self._places = [present.index(name) for name in node.names]

    def __call__(self, block: Block) -> None:
        columns = block.load()
        block.columns = [columns[place] for place in self._places]


class Operate:
    """Operations applied to columns.

    Operations that can take stacked rows get them, as long as rows are small. Other rows go
    through the operations one by one, so that their pixels stay in the processor's cache.
    """

    def __init__(self, node: O.Map, options: Options, meter: Meter) -> None:
        present = node.child.columns()
        self._seed = options.seed
        self._steps = tuple(zip(node.operations, node.numbers))
        self._taken = [present.index(name) for name in node.taken]
        self._given = node.given
        self._places = [
            (0, node.given.index(name)) if name in node.given else (1, present.index(name))
            for name in node.columns()
        ]
        self._hooks = options.hooks
        self._meter = meter
        self._meters = options.meters
        self._crews: dict[int, Crew] = {}  # by the place of a user's function
        if node.python_multiprocessing and not options.in_turn:
            for place, (operation, _) in enumerate(self._steps):
                if not isinstance(operation, Operation):
                    self._crews[place] = options.hired(operation)

    def __call__(self, block: Block) -> None:
        before = block.load()
        values: list[Column] = [before[place] for place in self._taken]
        done = 0
        while done < len(self._steps):
            values, done = self._advance(values, done, block)
        self._check_count(values, block)
        sides = (values, before)
        block.columns = [sides[side][place] for side, place in self._places]

    def _advance(self, values: list[Column], done: int, block: Block) -> tuple[list[Column], int]:
        if done in self._crews:
            return self._remotely(values, done, block), done + 1
        made = self._together(self._steps[done][0], values)
        if made is not None:
            return made, done + 1
        return self._one_by_one(values, done, block)

    def _together(self, operation: Any, values: list[Column]) -> list[Column] | None:
        """The operation on stacked rows, if it can do that and rows are small."""
        if not _takes_many(operation) or self._hooks:
            return None
        stacked = [_stacked(column) for column in values]
        if any(column is None for column in stacked):
            return None
        try:
            made = self._timed(operation, lambda: operation.run_many(tuple(stacked)))
        except Exception:
            return None  # row by row, the error finds the row it belongs to
        return None if made is None else list(made)

    def _one_by_one(
        self, values: list[Column], done: int, block: Block
    ) -> tuple[list[Column], int]:
        """Rows through the operations from `done` on, up to one that may take them stacked."""
        count = len(self._steps)
        ahead = range(done + 1, count)
        stop = next((k for k in ahead if _takes_many(self._steps[k][0]) or k in self._crews), count)
        rows: list[Values] = []
        for place in range(len(block)):
            row: Values = tuple(entry(column, place) for column in values)
            row = self._through(row, done, stop, block, place)
            if place == 0 and stop < count and not all(map(_is_small, row)):
                end = next((k for k in ahead if k in self._crews), count)
                row, stop = self._through(row, stop, end, block, place), end
            rows.append(row)
        return by_column(rows), stop

    def _remotely(self, values: list[Column], done: int, block: Block) -> list[Column]:
        """A user's function on all rows, in another process."""
        function, number = self._steps[done]
        rows = [tuple(entry(column, place) for column in values) for place in range(len(block))]
        seeds = [hash((self._seed, number, *key)) & _SEEDS for key in block.keys]
        try:
            made = self._timed(function, lambda: self._crews[done].run(rows, seeds))
            parts = [row if isinstance(row, tuple) else (row,) for row in made]
            last = done + 1 == len(self._steps)
            return by_column([row_of(row, self._given) for row in parts] if last else parts)
        except Exception as error:
            place = error.place if isinstance(error, RemoteError) else 0
            row = Row(*block.keys[place], block.names(place))
            raise failed("map", row, error, function) from error

    def _through(self, row: Values, begin: int, end: int, block: Block, place: int) -> Values:
        epoch, index = block.keys[place]
        operation: Any = None
        try:
            for operation, number in self._steps[begin:end]:
                row = self._apply(operation, number, row, epoch, index)
                for hook in self._hooks:
                    row = _shown(hook, operation, row)
            return row if end < len(self._steps) else row_of(row, self._given)
        except Exception as error:
            raise failed("map", Row(epoch, index, block.names(place)), error, operation) from error

    def _apply(self, operation: Any, number: int, row: Values, epoch: int, index: int) -> Values:
        if isinstance(operation, Operation):
            random = (
                borrowed_generator(self._seed, number, epoch, index)
                if operation.is_random
                else None
            )
            made = self._timed(operation, lambda: operation.run(row, random))
        else:
            made = self._timed(operation, lambda: operation(*row))
        return made if isinstance(made, tuple) else (made,)

    def _timed(self, operation: Any, call: Callable[[], Any]) -> Any:
        if not self._meters.operations:
            return call()
        began = perf_counter()
        made = call()
        self._meters.part(self._meter, name_of(operation), perf_counter() - began)
        return made

    def _check_count(self, values: list[Column], block: Block) -> None:
        if len(values) != len(self._given):
            try:
                row_of(tuple(entry(column, 0) for column in values), self._given)
            except ValueError as error:
                row = Row(*block.keys[0], block.names(0))
                raise failed("map", row, error, self._steps[-1][0]) from error


def _shown(hook: Any, operation: Any, row: Values) -> Values:
    hook.set_previous_op_name(name_of(operation))
    made = hook.compute(*row)
    return made if isinstance(made, tuple) else (made,)


def _takes_many(operation: Any) -> bool:
    return isinstance(operation, Operation) and operation.takes_many


def _stacked(column: Column) -> np.ndarray | None:
    """The rows of a column in one array, if they are small and alike."""
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


def _is_small(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.nbytes <= _SMALL


def run_steps(steps: Sequence[Step], block: Block) -> Block:
    """The block after all steps."""
    for step in steps:
        step(block)
    return block
