"""The operator: one running step, which gives the rows of an epoch from any position on."""

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
    """What a run is told from outside."""

    seed: int
    common: int  # the seed that all processes of a distributed run have
    workers: int = 1
    prefetch: int = 16
    policy: ErrorPolicy = ErrorPolicy.RETURN
    in_turn: bool = False  # everything in the caller's thread
    hooks: tuple[Any, ...] = ()  # they see rows between the operations of a map
    tunes: bool = False  # the number of workers follows the need
    meters: RunMetrics = field(default_factory=RunMetrics)
    crews: list[ProcessPool] = field(default_factory=list)
    shards_are_runs: bool = False  # of neighbouring rows of records, not every n-th one
    at_once: int = 1  # rows that a batch above takes together
    gates: list[Any] = field(default_factory=list)  # operators that may wait for the taker

    def hired(self, function: Any) -> ProcessPool:
        """Worker processes for a function, which end with the run."""
        self.crews.append(ProcessPool(function))
        return self.crews[-1]


class RowOperator(ABC):
    """A step of a run."""

    @abstractmethod
    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        """The rows of an epoch from the `start`-th on."""

    def blocks(
        self,
        epoch: int,
        start: int,
        size: int,
        finish: Callable[[int, RowBlock], T],
        *,
        whole: bool = False,
    ) -> Iterator[T]:
        """What `finish` makes of the number and the rows of each block of `size` rows.

        `start` is a multiple of `size`. With `whole`, a last block of fewer rows is left out.
        """
        rows = self.rows(epoch, start)
        for number in count(start // size):
            group = list(islice(rows, size))
            if not group or (whole and len(group) < size):
                return
            yield finish(number, RowBlock.of_rows(group))

    def order(self, epoch: int) -> RowOrder | None:
        """The rows of `reader` that an epoch gives, if choosing them is all the step does."""
        return None

    @property
    def reader(self) -> RowReader | None:
        """What `order` speaks of."""
        return None


def ordered_rows(order: RowOrder, reader: RowReader, start: int) -> Iterator[Row]:
    """Unread rows in their order."""
    rest = order[start:]
    keys = zip(rest.turns.tolist(), rest.places.tolist(), rest.origins.tolist())
    for turn, place, origin in keys:
        yield Row(turn, place, origin, None, reader)
