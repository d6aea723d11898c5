"""The order: which rows of a reader come, one after another, and their keys to random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class RowOrder:
    """Rows that are chosen but not read: a step that chooses rows only rearranges these arrays.

    `turns` (the epoch of the source) and `places` (where its sampler put the row) are the key to
    random numbers. They stay with a row wherever it moves.
    """

    origins: np.ndarray
    places: np.ndarray
    turns: np.ndarray

    @classmethod
    def of(cls, origins: np.ndarray, turn: int) -> Self:
        """The rows `origins` in the order of a source."""
        count = len(origins)
        return cls(origins, np.arange(count), np.broadcast_to(np.int64(turn), count))

    def __len__(self) -> int:
        return len(self.origins)

    def __getitem__(self, chosen: slice | np.ndarray) -> RowOrder:
        return RowOrder(self.origins[chosen], self.places[chosen], self.turns[chosen])


def joined(orders: Sequence[RowOrder]) -> RowOrder:
    """Orders after one another."""
    columns = zip(*((order.origins, order.places, order.turns) for order in orders))
    return RowOrder(*(np.concatenate(column) for column in columns))
