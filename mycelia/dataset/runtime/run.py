"""A run of a pipeline: a thread prefetches rows, from a position that can be checkpointed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Thread
from time import perf_counter
from typing import Any

from mycelia import log
from mycelia._engine.core.errors import problem
from mycelia._engine.runtime.memory.allocator import release_free_memory
from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.runtime.autotune import Autotuner
from mycelia.dataset.runtime.bounded_queue import BoundedQueue, QueueClosed
from mycelia.dataset.runtime.build import build
from mycelia.dataset.runtime.operator import ErrorPolicy, RunOptions
from mycelia.dataset.runtime.parallel_map import bytes_of
from mycelia.dataset.runtime.run_metrics import Failures, RunMetrics

_END = object()
_MOST_BYTES = 64 * 2**20  # maximum bytes of prefetched rows, unless it is a single row
_LARGE = 64 * 2**20  # row size in bytes from which memory is returned to the system at the end
Values = tuple[Any, ...]


class DatasetRun:
    """The rows of a number of epochs (-1: unlimited), one epoch at a time.

    `finish` is applied to the values of each row in the prefetching thread.
    """

    def __init__(
        self,
        root: DatasetNode,
        options: RunOptions,
        epochs: int,
        finish: Callable[[Values], Values] = lambda values: values,
    ) -> None:
        self._options = options
        self._operator = build(root, options)
        self._epochs = epochs
        self._finish = finish
        self._epoch = 0
        self._row = 0
        self._feed: BoundedQueue[Any] | _InlineRows | None = None
        self._had_large_rows = False
        self._tuner = Autotuner(options.meters, os.cpu_count() or 1) if options.autotune else None

    @property
    def meters(self) -> RunMetrics:
        """The meters of the run."""
        return self._options.meters

    def next(self) -> Values:
        """The values of the next row; StopIteration at the end of each epoch."""
        began = perf_counter()
        if self._feed is None:
            self._check_epochs()
            self._feed = self._start(self._row)
        item = self._feed.get()
        self.meters.taken(began, perf_counter(), is_row=item is not _END)
        if item is _END:
            self._end_epoch()
            raise StopIteration
        if isinstance(item, BaseException):
            self.close()
            raise item
        self._row += 1
        if self._tuner is not None:
            self._tuner.look()
        return item

    def _check_epochs(self) -> None:
        if self._epochs != -1 and self._epoch >= self._epochs:
            raise problem(
                RuntimeError,
                "dataset: all epochs of this iterator are over",
                got=f"num_epochs={self._epochs}",
                fix="create a new iterator, or one with a larger num_epochs",
            )

    def _end_epoch(self) -> None:
        self.close()
        self._tell_failures()
        self._epoch += 1
        self._row = 0
        if self._epoch < self._epochs:  # the next epoch will probably be read
            self._feed = self._start(0)

    def _tell_failures(self) -> None:
        failures = self.meters.failures
        if failures.count:
            done = "replaced" if self._options.policy == ErrorPolicy.REPLACE else "skipped"
            log.warning(
                f"dataset: {failures.count} rows failed in epoch {self._epoch} and were {done}; "
                f"the first: {failures.first}"
            )
            self.meters.failures = Failures()

    def _start(self, row: int) -> BoundedQueue[Any] | _InlineRows:
        rows = self._operator.rows(self._epoch, row)
        if self._options.single_threaded:
            return _InlineRows(rows, self._finish)
        feed: BoundedQueue[Any] = BoundedQueue(1)
        arguments = (rows, feed, self._finish, self._options.prefetch)
        Thread(target=self._produce, args=arguments, name="dataset feed", daemon=True).start()
        return feed

    def _produce(
        self,
        rows: Iterator[Any],
        feed: BoundedQueue[Any],
        finish: Callable[[Values], Values],
        prefetch: int,
    ) -> None:
        """Put rows into the queue; if they are small, as many as the prefetch size."""
        try:
            for row in rows:
                if feed.capacity < prefetch:
                    size = bytes_of(row)
                    feed.capacity = min(prefetch, _MOST_BYTES // max(size, 1)) or 1
                    self._had_large_rows |= size >= _LARGE
                feed.put(finish(row.load()))
                del row
            feed.put(_END)
        except QueueClosed:
            pass
        except BaseException as error:
            _report(error, feed)
        finally:
            if hasattr(rows, "close"):
                rows.close()

    def state(self) -> dict[str, int]:
        """The position of the run, for `restore`."""
        return {"epoch": self._epoch, "row": self._row, "seed": self._options.seed}

    def move(self, epoch: int, row: int) -> None:
        """Continue from another position."""
        self.close()
        self._epoch, self._row = epoch, row

    def end(self) -> None:
        """Stop the threads and the worker processes."""
        self.close()
        for gate in self._options.gates:
            gate.end()
        for crew in self._options.crews:
            crew.close()
        if self._had_large_rows:
            release_free_memory()

    def close(self) -> None:
        """Stop the threads and drop the prefetched rows."""
        if self._feed is not None:
            self._feed.close()
            self._feed = None


class _InlineRows:
    """Rows that are computed on demand in the caller's thread."""

    def __init__(self, rows: Iterator[Any], finish: Callable[[Values], Values]) -> None:
        self._rows = rows
        self._finish = finish

    def get(self) -> Any:
        """The next row, the end marker, or an error."""
        try:
            row = next(self._rows, None)
            return _END if row is None else self._finish(row.load())
        except Exception as error:
            return error

    def close(self) -> None:
        """Drop the remaining rows."""
        self._rows = iter(())


def _report(error: BaseException, feed: BoundedQueue[Any]) -> None:
    with suppress(QueueClosed):
        feed.put(error)
