"""The operators that make one row of several: batch and bucket_batch_by_length."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any

import numpy as np

from mycelia.core.checks import is_int
from mycelia.core.errors import problem
from mycelia.dataset.formats.values import value_of
from mycelia.dataset.ir import operations as O
from mycelia.dataset.runtime.failure import failed
from mycelia.dataset.runtime.operator import Operator, Options
from mycelia.dataset.runtime.row import Row
from mycelia.dataset.runtime.stacking import pad, stack
from mycelia.dataset.runtime.workers import ordered


class BatchInfo:
    """What the functions given to `batch` may know of the batch they work on."""

    def __init__(self, epoch: int = 0, batch: int = 0) -> None:
        self._epoch = epoch
        self._batch = batch

    def get_epoch_num(self) -> int:
        """The number of the epoch, from 0."""
        return self._epoch

    def get_batch_num(self) -> int:
        """The number of the batch in its epoch, from 0."""
        return self._batch


class GatherBatches(Operator):
    """Batches copied straight out of arrays."""

    def __init__(self, node: O.Batch, child: Operator, options: Options) -> None:
        assert isinstance(node.batch, int)
        self._size = node.batch
        self._drops = node.drop_remainder
        self._child = child

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        order, table = self._child.order(epoch), self._child.table
        assert order is not None and table is not None
        end = len(order) - len(order) % self._size if self._drops else len(order)
        for index in range(start, -(-end // self._size)):
            chosen = order[index * self._size : min((index + 1) * self._size, end)]
            yield Row(epoch, index, f"batch {index}", table.gather(chosen))


class BatchRows(Operator):
    """Rows stacked into one."""

    def __init__(self, node: O.Batch, child: Operator, workers: int, options: Options) -> None:
        self._node = node
        self._child = child
        self._workers = workers
        self._window = max(workers + 1, options.prefetch)
        self._present = node.child.columns()
        self._taken = node.input_columns or (self._present if node.per_batch_map else ())
        self._given = node.output_columns or self._taken

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        return ordered(
            self._joined,
            self._groups(epoch, start),
            workers=self._workers,
            window=self._window,
            name="dataset batch",
        )

    def _groups(self, epoch: int, start: int) -> Iterator[tuple[BatchInfo, list[Row]]]:
        size = self._node.batch
        first = start if isinstance(size, int) else 0
        rows = self._child.rows(epoch, first * size if isinstance(size, int) else 0)
        for number in count(first):
            info = BatchInfo(epoch, number)
            wanted = size if isinstance(size, int) else self._size(size, info)
            group = list(islice(rows, wanted))
            if not group or (self._node.drop_remainder and len(group) < wanted):
                return
            if number >= start:
                yield info, group

    def _size(self, function: Callable[[Any], int], info: BatchInfo) -> int:
        size = function(info)
        if not is_int(size) or size <= 0:
            raise problem(
                RuntimeError,
                "batch: the function for batch_size must give a positive int",
                got=repr(size),
            )
        return int(size)

    def _joined(self, task: tuple[BatchInfo, list[Row]]) -> Row:
        info, rows = task
        loaded = [row.load() for row in rows]
        columns = dict(zip(self._present, (list(values) for values in zip(*loaded))))
        if self._node.per_batch_map is not None:
            self._mapped(columns, info, rows)
        values = join(columns, self._node.columns(), self._node.pad_info, rows)
        return Row(info.get_epoch_num(), info.get_batch_num(), _names(rows), values)

    def _mapped(self, columns: dict[str, Any], info: BatchInfo, rows: list[Row]) -> None:
        function = self._node.per_batch_map
        assert function is not None
        at = Row(info.get_epoch_num(), info.get_batch_num(), _names(rows))
        try:
            made = function(*(columns.pop(name) for name in self._taken), info)
            parts = made if isinstance(made, tuple) else (made,)
            if len(parts) != len(self._given):
                raise ValueError(
                    f"per_batch_map gave {len(parts)} columns, expected {len(self._given)}: "
                    f"{', '.join(self._given)}"
                )
            columns.update(zip(self._given, parts))
        except Exception as error:
            raise failed("batch", at, error, function) from error


def join(
    columns: dict[str, Any], order: tuple[str, ...], pad_info: Any, rows: list[Row]
) -> tuple[Any, ...]:
    """The columns of several rows, padded if wanted, stacked."""
    names = [row.name() for row in rows]
    values = []
    for column in order:
        entries = columns[column]
        if isinstance(entries, np.ndarray):
            values.append(entries)
            continue
        arrays = [value_of(entry) for entry in entries]
        if pad_info is not None and (not pad_info or column in pad_info):
            arrays = pad(arrays, column, pad_info.get(column))
        if len(arrays) != len(names):
            names = [f"entry {place}" for place in range(len(arrays))]
        values.append(stack(arrays, column, names))
    return tuple(values)


def _names(rows: list[Row]) -> str:
    return rows[0].name() if len(rows) == 1 else f"{rows[0].name()} to {rows[-1].name()}"


class BucketRows(Operator):
    """Rows of similar length stacked together."""

    def __init__(self, node: O.BucketBatch, child: Operator) -> None:
        self._node = node
        self._child = child
        self._present = node.child.columns()
        self._lengths = [self._present.index(name) for name in node.length_columns]

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        for index, (bucket, rows) in enumerate(self._groups(epoch)):
            if index >= start:
                yield Row(epoch, index, _names(rows), self._joined(bucket, rows))

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
        values = [row.load()[place] for place in self._lengths]
        if self._node.length_of is None:
            return len(values[0])
        try:
            return int(self._node.length_of(*values))
        except Exception as error:
            raise failed("bucket_batch_by_length", row, error, self._node.length_of) from error

    def _joined(self, bucket: int, rows: list[Row]) -> tuple[Any, ...]:
        loaded = zip(*(row.load() for row in rows))
        columns = dict(zip(self._present, (list(values) for values in loaded)))
        return join(columns, self._present, self._pad_info(bucket), rows)

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
    """`wanted` with the open sizes of a length column set to the bucket's largest length."""
    if wanted is None:
        return ([size], 0) if is_length else None
    shape, value = wanted
    return [size if entry is None else entry for entry in shape or [None]], value
