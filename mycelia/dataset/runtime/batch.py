"""The runtime operators of batch and bucket_batch_by_length."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, islice
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.dataset.formats.values import value_of
from mycelia.dataset.ir import operations as O
from mycelia.dataset.runtime.operator import RowOperator, RunOptions
from mycelia.dataset.runtime.parallel_map import MapRows, bytes_of
from mycelia.dataset.runtime.row import Row, RowBlock, entry
from mycelia.dataset.runtime.row_errors import failed
from mycelia.dataset.runtime.row_stack import pad, stack
from mycelia.dataset.runtime.run_metrics import StepMeter
from mycelia.dataset.runtime.thread_pool import WorkerPool


class BatchInfo(CheckedKeywords):
    """Information about the current batch, for the functions passed to `batch`."""

    def __init__(self, epoch: int = 0, batch: int = 0) -> None:
        self._epoch = epoch
        self._batch = batch

    def get_epoch_num(self) -> int:
        """The index of the epoch, from 0."""
        return self._epoch

    def get_batch_num(self) -> int:
        """The index of the batch within its epoch, from 0."""
        return self._batch


class BatchRows(RowOperator):
    """Stacks rows into batches, in the workers that produced them or in separate ones."""

    def __init__(
        self, node: O.BatchNode, child: RowOperator, meter: StepMeter, options: RunOptions
    ) -> None:
        node.check_size()
        self._node = node
        self._child = child
        self._meter = meter
        self._options = options
        self._present = node.child.columns()
        self._columns = node.columns()
        self._taken = node.input_columns or (self._present if node.per_batch_map else ())
        self._given = node.output_columns or self._taken
        self._call: Callable[..., Any] | None = node.per_batch_map
        if (
            node.per_batch_map is not None
            and node.python_multiprocessing
            and not options.single_threaded
        ):
            crew = options.started_processes(node.per_batch_map)
            self._call = lambda *values: crew.run([values], [values[-1].get_batch_num()])[0]

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        size, whole = self._node.batch, self._node.drop_remainder
        if not isinstance(size, int):
            groups = self._of_changing_size(size, epoch, start)
        elif isinstance(self._child, MapRows):
            first = start * size
            return self._child.blocks(epoch, first, size, partial(self._joined, epoch), whole=whole)
        else:
            groups = self._child.blocks(epoch, start * size, size, _as_it_is, whole=whole)
        team: WorkerPool[tuple[int, RowBlock], Row] = WorkerPool(
            lambda task: self._joined(epoch, *task),
            self._meter,
            max(self._meter.workers, self._options.prefetch),
            count=lambda task: len(task[1]),
            weight=bytes_of,
        )
        alone = self._meter.workers == 1 or self._options.single_threaded
        return team.inline(groups) if alone else team.ordered(groups)

    def _of_changing_size(
        self, size: Callable[[Any], int], epoch: int, start: int
    ) -> Iterator[tuple[int, RowBlock]]:
        rows = self._child.rows(epoch)
        for number in count():
            wanted = self._size(size, BatchInfo(epoch, number))
            group = list(islice(rows, wanted))
            if not group or (self._node.drop_remainder and len(group) < wanted):
                return
            if number >= start:
                yield number, RowBlock.of_rows(group)

    def _size(self, function: Callable[[Any], int], info: BatchInfo) -> int:
        size = function(info)
        if not is_int(size) or size <= 0:
            raise problem(
                RuntimeError,
                "batch: the function for batch_size must return a positive int",
                got=repr(size),
            )
        return int(size)

    def _joined(self, epoch: int, number: int, block: RowBlock) -> Row:
        columns = dict(zip(self._present, block.load()))
        if self._node.per_batch_map is not None:
            self._mapped(columns, BatchInfo(epoch, number), block)
        try:
            values = join(columns, self._columns, self._node.pad_info, block)
        except MemoryError as error:
            raise problem(
                RuntimeError,
                f"batch: {len(block)} rows starting at {block.names(0)} do not fit into memory",
                got=str(error),
                fix="use a smaller batch_size, or smaller rows",
            ) from error
        return Row(epoch, number, _names(block), values)

    def _mapped(self, columns: dict[str, Any], info: BatchInfo, block: RowBlock) -> None:
        assert self._call is not None
        taken = [list(_entries(columns.pop(name))) for name in self._taken]
        try:
            made = self._call(*taken, info)
            parts = made if isinstance(made, tuple) else (made,)
            if len(parts) != len(self._given):
                raise ValueError(
                    f"per_batch_map returned {len(parts)} columns, expected {len(self._given)}: "
                    f"{', '.join(self._given)}"
                )
            columns.update(zip(self._given, parts))
        except Exception as error:
            at = Row(info.get_epoch_num(), info.get_batch_num(), _names(block))
            raise failed("batch", at, error, self._node.per_batch_map) from error


def _as_it_is(number: int, block: RowBlock) -> tuple[int, RowBlock]:
    return number, block


def _entries(column: Any) -> Iterator[Any]:
    return (entry(column, position) for position in range(len(column)))


def join(
    columns: dict[str, Any], order: tuple[str, ...], pad_info: Any, block: RowBlock
) -> tuple[Any, ...]:
    """Stack the columns of several rows, padded if requested."""
    values = []
    for column in order:
        entries = columns[column]
        is_padded = pad_info is not None and (not pad_info or column in pad_info)
        if isinstance(entries, np.ndarray) and not is_padded:
            values.append(entries)
            continue
        arrays = [value_of(value) for value in _entries(entries)]
        if is_padded:
            arrays = pad(arrays, column, pad_info.get(column))
        values.append(stack(arrays, column, _row_names(block, len(arrays))))
    return tuple(values)


def _row_names(block: RowBlock, count: int) -> Callable[[int], str]:
    """Names of stacked entries for errors: those of the rows, unless per_batch_map changed them."""
    return block.names if len(block) == count else lambda position: f"entry {position}"


def _names(block: RowBlock) -> str:
    first, last = block.names(0), block.names(len(block) - 1)
    return first if len(block) == 1 else f"{first} to {last}"


class BucketRows(RowOperator):
    """Batches rows by length bucket."""

    def __init__(self, node: O.BucketBatchNode, child: RowOperator) -> None:
        self._node = node
        self._child = child
        self._present = node.child.columns()
        O.check_columns("bucket_batch_by_length", node.length_columns, self._present)
        self._lengths = [self._present.index(name) for name in node.length_columns]

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        for index, (bucket, rows) in enumerate(self._groups(epoch)):
            if index >= start:
                block = RowBlock.of_rows(rows)
                yield Row(epoch, index, _names(block), self._joined(bucket, block))

    def _groups(self, epoch: int) -> Iterator[tuple[int, list[Row]]]:
        node = self._node
        buckets: list[list[Row]] = [[] for _ in node.sizes]
        for row in self._child.rows(epoch):
            bucket = bisect_right(node.boundaries, self._length(row))
            buckets[bucket].append(row)
            if len(buckets[bucket]) == node.sizes[bucket]:
                yield bucket, buckets[bucket]
                buckets[bucket] = []
        if not node.drop_remainder:
            yield from ((b, rows) for b, rows in enumerate(buckets) if rows)

    def _length(self, row: Row) -> int:
        values = [row.load()[position] for position in self._lengths]
        if self._node.length_of is None:
            return len(values[0])
        try:
            return int(self._node.length_of(*values))
        except Exception as error:
            raise failed("bucket_batch_by_length", row, error, self._node.length_of) from error

    def _joined(self, bucket: int, block: RowBlock) -> tuple[Any, ...]:
        columns = dict(zip(self._present, block.load()))
        return join(columns, self._present, self._pad_info(bucket), block)

    def _pad_info(self, bucket: int) -> Any:
        node = self._node
        if not node.pad_to_bucket_boundary or node.pad_info is None:
            return node.pad_info
        if bucket == len(node.boundaries):
            raise problem(
                RuntimeError,
                "bucket_batch_by_length: a row is longer than the last boundary, so it cannot be "
                "padded to one",
                got=f"a length of at least {node.boundaries[-1]}",
                fix="add a boundary above the longest row, or set pad_to_bucket_boundary=False",
            )
        size = node.boundaries[bucket] - 1
        return {
            column: _bounded(wanted, size, column in node.length_columns)
            for column, wanted in node.pad_info.items()
        }


def _bounded(wanted: Any, size: int, is_length: bool) -> Any:
    """`wanted` with unspecified sizes of a length column set to the bucket's maximum."""
    if wanted is None or not wanted[0] or not is_length:
        return wanted
    shape, value = wanted
    return [size if entry is None else entry for entry in shape], value
