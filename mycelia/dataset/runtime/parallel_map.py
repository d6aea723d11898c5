"""The operator whose parallel workers read rows and apply steps to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mycelia.dataset.runtime.block_steps import BlockStep, run_steps
from mycelia.dataset.runtime.map_callbacks import MapObserver
from mycelia.dataset.runtime.operator import ErrorPolicy, RowOperator, RunOptions
from mycelia.dataset.runtime.process.process_pool import WorkerStartError
from mycelia.dataset.runtime.row import Row, RowBlock
from mycelia.dataset.runtime.row_errors import failed
from mycelia.dataset.runtime.run_metrics import Failures, StepMeter
from mycelia.dataset.runtime.thread_pool import WorkerPool

_CHUNK = 16  # maximum rows per task
_CHUNK_BYTES = 8 * 2**20  # maximum bytes of rows per task, unless it is a single row
T = TypeVar("T")
Result = Row | RuntimeError


class BlockTask(NamedTuple):
    """A block of rows, and the number of rows before it."""

    place: int
    block: RowBlock


class MapRows(RowOperator):
    """Rows of the child, read by workers and changed by steps."""

    def __init__(
        self,
        child: RowOperator,
        steps: Sequence[BlockStep],
        meter: StepMeter,
        options: RunOptions,
        callbacks: Sequence[Any] = (),
    ) -> None:
        self._observer = MapObserver(callbacks) if callbacks else None
        self._child = child
        self._steps = steps
        self._meter = meter
        self._options = options
        self._row_bytes: int | None = None  # the largest row so far

    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        policy = self._options.policy
        exact = policy == ErrorPolicy.RETURN  # else the start index depends on earlier failures
        tasks = self._row_tasks(epoch, start if exact else 0)
        chunks = self._worked(epoch, tasks, self._results)
        results = (result for chunk in chunks for result in chunk)
        good = kept(results, policy, self._options.meters.failures)
        return good if exact else islice(good, start, None)

    def blocks(
        self,
        epoch: int,
        start: int,
        size: int,
        finish: Callable[[int, RowBlock], T],
        *,
        whole: bool = False,
    ) -> Iterator[T]:
        if self._options.policy != ErrorPolicy.RETURN:
            return super().blocks(epoch, start, size, finish, whole=whole)
        together = max(self._at_once() // size, 1)  # blocks per task
        tasks = self._tasks(epoch, start, size * together)
        done = self._worked(epoch, tasks, partial(self._finished, start, size, finish, whole))
        return (made for several in done for made in several)

    def _finished(
        self,
        start: int,
        size: int,
        finish: Callable[[int, RowBlock], T],
        whole: bool,
        task: BlockTask,
    ) -> list[T]:
        block = run_steps(self._steps, self._loaded(task.block))
        count = len(block) // size if whole else -(-len(block) // size)
        first = (start + task.place) // size
        return [finish(first + k, block.cut(k * size, (k + 1) * size)) for k in range(count)]

    def _worked(
        self, epoch: int, tasks: Iterable[BlockTask], work: Callable[[BlockTask], T]
    ) -> Iterator[T]:
        window = max(self._meter.workers, self._options.prefetch)
        team = WorkerPool(
            work, self._meter, window, count=lambda task: len(task.block), weight=bytes_of
        )
        alone = self._meter.workers == 1 and not self._options.autotune
        run = team.inline if alone or self._options.single_threaded else team.ordered
        if self._observer is None:
            return run(tasks)
        return self._observer.watched(epoch, tasks, lambda task: len(task.block), run)

    def _at_once(self) -> int:
        """How many rows to read per task; more if the steps do nothing with them."""
        reader = self._child.reader
        own = getattr(reader, "at_once", 1)
        return own if self._steps else max(own, getattr(reader, "at_once_unchanged", 1))

    def _chunk(self) -> int:
        """How many rows a task holds: one until the row size is known."""
        if self._options.single_threaded or self._meter.workers == 1 or self._row_bytes is None:
            return 1
        return min(_CHUNK, _CHUNK_BYTES // max(self._row_bytes, 1)) or 1

    def _row_tasks(self, epoch: int, start: int) -> Iterator[BlockTask]:
        """Tasks of several rows, as long as these are small."""
        order, reader = self._child.order(epoch), self._child.reader
        if order is None or reader is None:
            yield from self._grouped(self._child.rows(epoch, start))
            return
        first = start
        while first < len(order):
            end = first + self._chunk()
            yield BlockTask(first - start, RowBlock.of_order(order[first:end], reader))
            first = end

    def _grouped(self, rows: Iterator[Row]) -> Iterator[BlockTask]:
        place, group, size = 0, [], 0
        for row in rows:
            group.append(row)
            size += bytes_of(row)
            if len(group) >= self._chunk() or size >= _CHUNK_BYTES:
                yield BlockTask(place, RowBlock.of_rows(group))
                place, group, size = place + len(group), [], 0
        if group:
            yield BlockTask(place, RowBlock.of_rows(group))

    def _tasks(self, epoch: int, start: int, size: int) -> Iterator[BlockTask]:
        order, reader = self._child.order(epoch), self._child.reader
        if order is None or reader is None:
            blocks = self._child.blocks(epoch, start, size, lambda _, block: block)
            yield from (BlockTask(number * size, block) for number, block in enumerate(blocks))
            return
        for first in range(start, len(order), size):
            yield BlockTask(first - start, RowBlock.of_order(order[first : first + size], reader))

    def _loaded(self, block: RowBlock) -> RowBlock:
        try:
            block.load()
        except Exception:
            self._find_unreadable(block)
            raise
        return block

    def _find_unreadable(self, block: RowBlock) -> None:
        """Read row by row, so that the error names the row."""
        for place in range(len(block)):
            try:
                block.part(place).load()
            except Exception as error:
                raise failed(
                    "reading", Row(*block.keys[place], block.names(place)), error
                ) from error

    def _results(self, task: BlockTask) -> list[Result]:
        """All rows or, if one fails, each row or its error; rows after an error are left out if
        it ends the epoch."""
        ends = self._options.policy == ErrorPolicy.RETURN
        if ends:
            with suppress(RuntimeError):
                return self._measured(list(run_steps(self._steps, self._loaded(task.block))))
        found: list[Result] = []
        for place in range(len(task.block)):
            found.append(self._attempt(task.block.part(place)))
            if ends and isinstance(found[-1], RuntimeError):
                break
        return self._measured(found)

    def _measured(self, rows: list[Result]) -> list[Result]:
        """The same rows; also records how large they are."""
        self._row_bytes = max(self._row_bytes or 0, bytes_of(rows) // max(len(rows), 1))
        return rows

    def _attempt(self, block: RowBlock) -> Result:
        try:
            return run_steps(self._steps, self._loaded(block)).row(0)
        except WorkerStartError:
            raise
        except RuntimeError as error:
            return error


def kept(results: Iterator[Result], policy: ErrorPolicy, failures: Failures) -> Iterator[Row]:
    """The good rows; a failed one raises, is skipped, or is replaced by the previous good row."""
    good: Row | None = None
    owed = 0
    for result in results:
        if isinstance(result, Row):
            good = result
            yield result
            for _ in range(owed):
                yield result
            owed = 0
            continue
        if policy == ErrorPolicy.RETURN:
            raise result
        failures.add(result)
        if policy == ErrorPolicy.REPLACE:
            if good is None:
                owed += 1
            else:
                yield good


def bytes_of(result: Any) -> int:
    """The bytes of memory that the rows of a result hold."""
    rows = result if isinstance(result, list) else [result]
    arrays = (value for row in rows if isinstance(row, Row) for value in row.values or ())
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
