"""The runtime operators of filter, flat_map, and zip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from mycelia._engine.core.errors import problem
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.runtime.operator import RowOperator
from mycelia.dataset.runtime.row import Row
from mycelia.dataset.runtime.row_errors import failed
from mycelia.dataset.runtime.run_metrics import StepMeter


class FilterRows(RowOperator):
    """The rows for which the predicate returns True."""

    def __init__(self, node: O.FilterNode, child: RowOperator, meter: StepMeter) -> None:
        self._meter = meter
        present = node.child.columns()
        self._predicate = node.predicate
        self._taken = [present.index(name) for name in node.input_columns or present]
        self._child = child

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        return islice(filter(self._holds, self._child.rows(epoch)), start, None)

    def _holds(self, row: Row) -> bool:
        values = row.load()
        try:
            with self._meter.timing():
                return bool(self._predicate(*(values[position] for position in self._taken)))
        except Exception as error:
            raise failed("filter", row, error, self._predicate) from error


class FlatMapRows(RowOperator):
    """The concatenated rows of the datasets to which a function maps each row."""

    def __init__(
        self,
        node: O.FlatMapNode,
        child: RowOperator,
        run: Callable[[DatasetNode], RowOperator],
        meter: StepMeter,
    ) -> None:
        self._meter = meter
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
                with self._meter.timing():
                    made = self._function(*row.load())
            except Exception as error:
                raise failed("flat_map", row, error, self._function) from error
            if made.columns() != self._names:
                raise problem(
                    RuntimeError,
                    f"flat_map: the dataset for {row.name()} has other columns",
                    got=str(list(made.columns())),
                    expected=str(list(self._names)),
                )
            yield from self._run(made).rows(epoch)


class ZipRows(RowOperator):
    """Rows of several children, joined column-wise."""

    def __init__(self, children: list[RowOperator]) -> None:
        self._children = children

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        sides = zip(*(child.rows(epoch, start) for child in self._children))
        for index, rows in enumerate(sides, start):
            values = tuple(value for row in rows for value in row.load())
            yield Row(epoch, index, " and ".join(row.name() for row in rows), values)
