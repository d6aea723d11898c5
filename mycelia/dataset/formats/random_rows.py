"""Rows of random bytes in the columns of a schema."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.schema import NUMBERS, ColumnSchema

_LONGEST = 32


class RandomRows:
    """Each value repeats one random byte; sizes of -1 are random as well."""

    def __init__(self, columns: Sequence[ColumnSchema], count: int, seed: int) -> None:
        text = [column.name for column in columns if column.type not in NUMBERS]
        if text:
            raise problem(
                RuntimeError,
                "RandomDataset: requires numeric columns",
                got=f"columns of text: {', '.join(text)}",
            )
        self.columns = tuple(column.name for column in columns)
        self._columns = tuple(columns)
        self._count = count
        self._seed = seed

    def __len__(self) -> int:
        return self._count

    def row(self, index: int) -> tuple[np.ndarray, ...]:
        random = np.random.default_rng((self._seed, index))
        return tuple(_value(column, random) for column in self._columns)

    def describe(self, index: int) -> str:
        return f"row {index} of RandomDataset"


def random_columns(seed: int) -> tuple[ColumnSchema, ...]:
    """One to four columns of random types and shapes."""
    random = np.random.default_rng(seed)
    return tuple(
        ColumnSchema(
            f"c{number}",
            NUMBERS[random.integers(len(NUMBERS))],
            tuple(int(size) for size in random.integers(1, _LONGEST, random.integers(1, 5))),
        )
        for number in range(random.integers(1, 5))
    )


def _value(column: ColumnSchema, random: np.random.Generator) -> np.ndarray:
    shape = () if column.shape is None else column.shape
    sizes = tuple(int(random.integers(1, _LONGEST)) if size < 0 else size for size in shape)
    value = np.empty(sizes, column.numpy)
    byte = random.integers(256, dtype=np.uint8)
    if column.type == "bool":
        value[...] = byte != 0
        return value
    value.reshape(-1).view(np.uint8)[...] = byte
    return value
