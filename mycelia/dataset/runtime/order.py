"""`RowOrder`: the indices of the rows to read, in order, with their random keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class RowOrder:
    """Selected rows that are not read yet. Steps that select rows only rearrange these arrays.

    `turns` (the epoch of the source) and `places` (the index in the sampler's order) are the random
    key of a row, which moves with it.
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
    """Concatenate orders."""
    columns = zip(*((order.origins, order.places, order.turns) for order in orders))
    return RowOrder(*(np.concatenate(column) for column in columns))
