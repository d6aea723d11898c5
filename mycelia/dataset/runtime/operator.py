"""The operator: one running step, which gives the rows of an epoch from any position on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from mycelia.dataset.formats.reader import ArrayReader
from mycelia.dataset.runtime.row import Row


class ErrorPolicy(IntEnum):
    """What happens to a row that fails."""

    RETURN = 0
    REPLACE = 1
    SKIP = 2


@dataclass(frozen=True)
class Options:
    """What a run is told from outside."""

    seed: int
    workers: int = 1
    prefetch: int = 16
    policy: ErrorPolicy = ErrorPolicy.RETURN
    in_turn: bool = False  # everything in the caller's thread


class Operator(ABC):
    """A step of a run."""

    @abstractmethod
    def rows(self, epoch: int, start: int = 0) -> Iterator[Row]:
        """The rows of an epoch from the `start`-th on."""

    def order(self, epoch: int) -> np.ndarray | None:
        """Which rows of `table` an epoch gives, if that is all the step does."""
        return None

    @property
    def table(self) -> ArrayReader | None:
        """The arrays that `order` speaks of."""
        return None
