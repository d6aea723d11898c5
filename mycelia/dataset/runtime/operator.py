"""`RowOperator`: a running step, which yields the rows of an epoch from any position on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count, islice
from typing import Any, TypeVar

from mycelia.dataset.formats.reader import RowReader
from mycelia.dataset.runtime.order import RowOrder
from mycelia.dataset.runtime.process.process_pool import ProcessPool
from mycelia.dataset.runtime.row import Row, RowBlock
from mycelia.dataset.runtime.run_metrics import RunMetrics

T = TypeVar("T")


class ErrorPolicy(IntEnum):
    """What happens to a row that fails."""

    RETURN = 0
    REPLACE = 1
    SKIP = 2


@dataclass(frozen=True)
class RunOptions:
    """The options of a run."""

    seed: int
    common: int  # the seed that all processes of a distributed run share
    workers: int = 1
    prefetch: int = 16
    policy: ErrorPolicy = ErrorPolicy.RETURN
    single_threaded: bool = False  # run everything in the caller's thread
    hooks: tuple[Any, ...] = ()  # debug hooks between the operations of a map
    autotune: bool = False  # autotune the number of workers
    meters: RunMetrics = field(default_factory=RunMetrics)
    crews: list[ProcessPool] = field(default_factory=list)
    contiguous_shards: bool = False  # a shard is a range of records instead of every n-th one
    at_once: int = 1  # rows that a later batch stacks
    gates: list[Any] = field(default_factory=list)  # operators that may wait for the consumer

    def started_processes(self, function: Any) -> ProcessPool:
        """Start worker processes for a function; they end with the run."""
        self.crews.append(ProcessPool(function))
        return self.crews[-1]


class RowOperator(ABC):
    """A running step."""

    @abstractmethod
    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        """Yield the rows of an epoch from the `start`-th on."""

    def blocks(
        self,
        epoch: int,
        start: int,
        size: int,
        finish: Callable[[int, RowBlock], T],
        *,
        whole: bool = False,
    ) -> Iterator[T]:
        """Yield the result of `finish` for the index and the rows of each block of `size` rows.

        `start` is a multiple of `size`. With `whole`, an incomplete last block is dropped.
        """
        rows = self.rows(epoch, start)
        for number in count(start // size):
            group = list(islice(rows, size))
            if not group or (whole and len(group) < size):
                return
            yield finish(number, RowBlock.of_rows(group))

    def order(self, epoch: int) -> RowOrder | None:
        """The row order of an epoch over `reader`, if the step only selects rows."""
        return None

    @property
    def reader(self) -> RowReader | None:
        """The reader that `order` refers to."""
        return None


def ordered_rows(order: RowOrder, reader: RowReader, start: int) -> Iterator[Row]:
    """The unread rows of an order."""
    rest = order[start:]
    keys = zip(rest.turns.tolist(), rest.places.tolist(), rest.origins.tolist())
    for turn, place, origin in keys:
        yield Row(turn, place, origin, None, reader)
