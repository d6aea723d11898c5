"""`RowReader`, the interface of sources with random access, and readers of rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.runtime.host_to_device import aligned
from mycelia.dataset.formats.values import own_copy, row_of

_GATHERED_BYTES = 256 * 1024  # bytes gathered per call if no other step follows


class RowReader(Protocol):
    """Rows with random access, from several threads."""

    columns: tuple[str, ...]

    def __len__(self) -> int: ...

    def row(self, index: int) -> Any:
        """One row: a tuple with one value per column."""

    def describe(self, index: int) -> str:
        """The name of a row in errors."""


class ArrayReader:
    """Rows that are slices of arrays; many of them are gathered in one call."""

    def __init__(self, columns: Sequence[str], arrays: Sequence[np.ndarray], name: str) -> None:
        self.columns = tuple(columns)
        self.arrays = tuple(arrays)
        self._name = name
        row = sum(array[:1].nbytes for array in self.arrays)
        self.at_once_unchanged = _GATHERED_BYTES // max(row, 1)

    def __len__(self) -> int:
        return len(self.arrays[0])

    def row(self, index: int) -> tuple[np.ndarray, ...]:
        return tuple(np.array(array[index]) for array in self.arrays)

    def gather(self, indices: np.ndarray) -> tuple[np.ndarray, ...]:
        """The rows `indices`, stacked, with one copy."""
        return tuple(_gathered(array, indices) for array in self.arrays)

    def describe(self, index: int) -> str:
        return f"row {index} of {self._name}"


def _gathered(array: np.ndarray, indices: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "USO":
        return array.take(indices, axis=0)
    whole = aligned((len(indices), *array.shape[1:]), array.dtype)
    return array.take(indices, axis=0, out=whole, mode="clip")  # "raise" would copy again


class ListReader:
    """Rows that are elements of Python sequences, one sequence per column."""

    def __init__(
        self,
        columns: Sequence[str],
        lists: Sequence[Sequence[Any]],
        name: str,
        file_sizes: Sequence[int] | None = None,
    ) -> None:
        self.columns = tuple(columns)
        self._lists = tuple(lists)
        self._name = name
        self.file_sizes = list(file_sizes or [len(self)])  # rows per file

    def __len__(self) -> int:
        return len(self._lists[0])

    def row(self, index: int) -> tuple[Any, ...]:
        return tuple(own_copy(entries[index]) for entries in self._lists)

    def describe(self, index: int) -> str:
        return f"row {index} of {self._name}"


class ObjectReader:
    """Rows of a user's object with `__getitem__` and `__len__`."""

    def __init__(self, columns: Sequence[str], source: Any, types: Any = None) -> None:
        self.columns = tuple(columns)
        self._source = source
        self._types = types

    def __len__(self) -> int:
        if not hasattr(self._source, "__len__"):
            raise problem(
                RuntimeError,
                "GeneratorDataset: the source has __getitem__, but no __len__",
                got=type(self._source).__name__,
                fix="add __len__, or remove __getitem__ and yield rows with __iter__",
            )
        size = len(self._source)
        if not size:
            raise problem(
                RuntimeError,
                "GeneratorDataset: the source is empty",
                got=f"{type(self._source).__name__} of length 0",
            )
        return size

    def row(self, index: int) -> Any:
        made = row_of(self._source[index], self.columns, self._types)
        return tuple(map(own_copy, made))

    def describe(self, index: int) -> str:
        return f"row {index} of {type(self._source).__name__}"
