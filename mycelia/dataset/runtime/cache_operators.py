"""The runtime operators of a cache: rows are computed once, stored, and read back later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.reader import RowReader
from mycelia.dataset.formats.values import row_of
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.ir.optimizer import random_step
from mycelia.dataset.ir.samplers import InterleavedFilesNode, SamplerNode, SequentialSamplerNode
from mycelia.dataset.ir.sources import SourceNode
from mycelia.dataset.runtime.block_steps import BlockStep, run_steps
from mycelia.dataset.runtime.operator import RowOperator
from mycelia.dataset.runtime.order import RowOrder
from mycelia.dataset.runtime.row import Row, by_column
from mycelia.dataset.runtime.row import RowBlock as Rows
from mycelia.dataset.runtime.row_selection import RowSelection
from mycelia.dataset.runtime.row_store import RowStore
from mycelia.dataset.runtime.run_metrics import StepMeter


def refuse_random(nodes: Iterable[DatasetNode]) -> None:
    """Reject random steps: rows that vary between epochs cannot be cached."""
    for node in nodes:
        name = random_step(node) or (node.op_type if isinstance(node, O.ShuffleNode) else None)
        if isinstance(node, SourceNode) and _is_random(node.sampler):
            name = f"the sampler of {node.op_type}"
        if name is not None:
            raise problem(
                RuntimeError,
                "cache: the steps below it produce different rows in each epoch",
                got=name,
                fix="put the cache before the random steps",
            )


def _is_random(sampler: SamplerNode | None) -> bool:
    if sampler is None:
        return False
    if isinstance(sampler, InterleavedFilesNode):
        return sampler.mixes_files
    fixed = isinstance(sampler, SequentialSamplerNode) or not getattr(sampler, "shuffle", True)
    return not fixed or _is_random(sampler.child)


class CachedReader:
    """Rows of another reader after some steps, computed on first access."""

    def __init__(
        self,
        reader: RowReader,
        store: RowStore,
        steps: Sequence[BlockStep] = (),
        columns: tuple[str, ...] | None = None,
        expected: int | None = None,
        meter: StepMeter | None = None,
    ) -> None:
        self.columns = columns or reader.columns
        self._reader = reader
        self._steps = steps
        self._store = store
        self._expected = len(reader) if expected is None else expected
        self._meter = meter or StepMeter("cache")

    def __len__(self) -> int:
        return len(self._reader)

    def row(self, index: int) -> Any:
        kept = self._store.get(index)
        if kept is not None:
            return kept
        with self._meter.timing():
            made = self._made(index)
        self._store.put(index, made)
        self._store.complete(self._expected)
        return made

    def _made(self, index: int) -> tuple[Any, ...]:
        values = row_of(self._reader.row(index), self._reader.columns)
        if not self._steps:
            return values
        block = Rows([(0, index)], lambda _: self.describe(index), by_column([values]))
        made = run_steps(self._steps, block).row(0).values
        assert made is not None
        return made

    def describe(self, index: int) -> str:
        return self._reader.describe(index)


class CachedRows(RowSelection):
    """Cached rows, keyed by their index in the source."""

    def __init__(
        self,
        child: RowOperator,
        steps: Sequence[BlockStep],
        columns: tuple[str, ...],
        store: RowStore,
        meter: StepMeter,
    ) -> None:
        super().__init__(child)
        assert child.reader is not None
        order = child.order(0)
        expected = None if order is None else len(np.unique(order.origins))
        self._reader = CachedReader(child.reader, store, steps, columns, expected, meter)

    def order(self, epoch: int) -> RowOrder | None:
        return self._child.order(epoch)

    @property
    def reader(self) -> RowReader:
        return self._reader

    def streamed(self, epoch: int, start: int) -> Iterator[Row]:
        for row in self._child.rows(epoch, start):
            yield Row(row.epoch, row.index, row.origin, None, self._reader)


class CachedStream(RowOperator):
    """Cached rows, keyed by their index in the stream."""

    def __init__(self, child: RowOperator, store: RowStore) -> None:
        self._child = child
        self._store = store

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        index = start
        while (kept := self._store.get(index)) is not None:
            yield Row(epoch, index, f"cached row {index}", kept)
            index += 1
        if self._store.total is not None and index >= self._store.total:
            return
        for row in self._child.rows(epoch, index):
            self._store.put(index, row.load())
            index += 1
            yield row
        self._store.complete(index)
