"""The operators that look at rows: map, filter, flat_map, zip, project, rename."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from mycelia.core.errors import problem
from mycelia.dataset.formats.values import row_of
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.node import Node
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.runtime.failure import failed
from mycelia.dataset.runtime.operator import ErrorPolicy, Operator, Options
from mycelia.dataset.runtime.randomness import generator
from mycelia.dataset.runtime.row import Row
from mycelia.dataset.runtime.workers import ordered

_CHUNK = 8
Result = Row | RuntimeError


class Load(Operator):
    """Rows loaded by workers."""

    name = "load"

    def __init__(self, child: Operator, workers: int, options: Options) -> None:
        self._child = child
        self._workers = workers
        self._options = options

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        window = max(self._workers + 1, self._options.prefetch)
        done = ordered(
            self._work_on,
            _chunks(self._child.rows(epoch, start), 1 if self._workers == 1 else _CHUNK),
            workers=self._workers,
            window=window,
            name=f"dataset {self.name}",
        )
        return kept((result for results in done for result in results), self._options.policy)

    def _work_on(self, rows: list[Row]) -> list[Result]:
        return [self._attempt(row) for row in rows]

    def _attempt(self, row: Row) -> Result:
        try:
            row.load()
        except Exception as error:
            return failed("reading", row, error)
        return self.change(row)

    def change(self, row: Row) -> Result:
        """The row that goes on."""
        return row


def kept(results: Iterator[Result], policy: ErrorPolicy) -> Iterator[Row]:
    """The good rows; a bad one raises, is left out, or gives way to the good row before it."""
    good: Row | None = None
    owed = 0
    for result in results:
        if isinstance(result, Row):
            good = result
            yield result
            for _ in range(owed):
                yield result
            owed = 0
        elif policy == ErrorPolicy.RETURN:
            raise result
        elif policy == ErrorPolicy.REPLACE:
            if good is None:
                owed += 1
            else:
                yield good


class MapRows(Load):
    """Operations applied to columns of loaded rows, by workers."""

    name = "map"

    def __init__(self, node: O.Map, child: Operator, workers: int, options: Options) -> None:
        super().__init__(child, workers, options)
        present = node.child.columns()
        self._node = node
        self._seed = options.seed
        self._steps = tuple(zip(node.operations, node.numbers))
        self._taken = [present.index(name) for name in node.taken]
        self._given = node.given
        self._places = [
            (0, node.given.index(name)) if name in node.given else (1, present.index(name))
            for name in node.columns()
        ]

    def change(self, row: Row) -> Result:
        before = row.load()
        values: Any = tuple(before[place] for place in self._taken)
        operation: Any = None
        try:
            for operation, number in self._steps:
                values = self._apply(operation, number, values, row)
            made = row_of(values, self._given)
        except Exception as error:
            return failed("map", row, error, operation)
        sides = (made, before)
        values = tuple(sides[side][place] for side, place in self._places)
        return Row(row.epoch, row.index, row.origin, values, row.reader)

    def _apply(self, operation: Any, number: int, values: Any, row: Row) -> Any:
        if isinstance(operation, Operation):
            random = (
                generator(self._seed, number, row.epoch, row.index) if operation.is_random else None
            )
            made = operation.run(values, random)
        else:
            made = operation(*values)
        return made if isinstance(made, tuple) else (made,)


def _chunks(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, size)):
        yield chunk


class FilterRows(Operator):
    """The rows for which the predicate holds."""

    def __init__(self, node: O.Filter, child: Operator) -> None:
        present = node.child.columns()
        self._predicate = node.predicate
        self._taken = [present.index(name) for name in node.input_columns or present]
        self._child = child

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        return islice(filter(self._holds, self._child.rows(epoch)), start, None)

    def _holds(self, row: Row) -> bool:
        values = row.load()
        try:
            return bool(self._predicate(*(values[place] for place in self._taken)))
        except Exception as error:
            raise failed("filter", row, error, self._predicate) from error


class FlatMapRows(Operator):
    """The rows of a dataset that a function makes of each row."""

    def __init__(self, node: O.FlatMap, child: Operator, run: Callable[[Node], Operator]) -> None:
        self._function = node.function
        self._names = node.names
        self._child = child
        self._run = run

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        for index, row in enumerate(self._all(epoch)):
            if index >= start:
                yield Row(epoch, index, row.name(), row.load())

    def _all(self, epoch: int) -> Iterator[Row]:
        for row in self._child.rows(epoch):
            try:
                made = self._function(*row.load())
            except Exception as error:
                raise failed("flat_map", row, error, self._function) from error
            if made.columns() != self._names:
                raise problem(
                    RuntimeError,
                    f"flat_map: the dataset made of {row.name()} has other columns",
                    got=str(list(made.columns())),
                    expected=str(list(self._names)),
                )
            yield from self._run(made).rows(epoch)


class ZipRows(Operator):
    """Rows side by side."""

    def __init__(self, children: list[Operator]) -> None:
        self._children = children

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        sides = zip(*(child.rows(epoch, start) for child in self._children))
        for index, rows in enumerate(sides, start):
            values = tuple(value for row in rows for value in row.load())
            yield Row(epoch, index, " and ".join(row.name() for row in rows), values)


class ProjectRows(Operator):
    """Some columns of each row."""

    def __init__(self, node: O.Project, child: Operator) -> None:
        present = node.child.columns()
        self._places = [present.index(name) for name in node.names]
        self._child = child

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        for row in self._child.rows(epoch, start):
            before = row.load()
            values = tuple(before[place] for place in self._places)
            yield Row(row.epoch, row.index, row.origin, values, row.reader)
