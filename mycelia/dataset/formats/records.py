"""The reader of MindRecord files and padded samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.mindrecord.records import Records
from mycelia.mindrecord.schema import Field


class RecordReader:
    """Rows decoded in batches. Those from `len(records)` on are all the padded sample."""

    at_once = 256  # rows to read together

    def __init__(
        self,
        files: str | Sequence[str],
        columns: Sequence[str],
        padded: Mapping[str, Any] | None = None,
        num_padded: int = 0,
    ) -> None:
        records = Records(files)
        self.columns = tuple(columns) or tuple(records.schema.fields)
        self._records = records.select(self.columns)
        self._stored = len(self._records)
        self._num_padded = num_padded
        fields = records.schema.fields
        self._fields = [fields[name] for name in self.columns]
        self._places = [self._records.columns.index(name) for name in self.columns]
        self._padded = tuple(
            _padded_value(name, fields[name], (padded or {})[name])
            for name in (self.columns if num_padded else ())
        )

    def __len__(self) -> int:
        return self._stored + self._num_padded

    @property
    def file_sizes(self) -> list[int]:
        """How many rows each file has."""
        return self._records.shard_sizes

    def row(self, index: int) -> tuple[Any, ...]:
        return self.rows([index])[0]

    def rows(self, indices: Sequence[int]) -> list[tuple[Any, ...]]:
        """Several rows, decoded together."""
        columns = self.gather(np.asarray(indices, np.int64))
        return list(zip(*map(entries, columns)))

    def gather(self, indices: np.ndarray) -> list[Any]:
        """Several rows by column: one array, or a list if shapes differ or values are texts."""
        padded = indices >= self._stored
        if not padded.any():
            return self._stored_columns(indices)
        if padded.all():
            return [[value] * len(indices) for value in self._padded]
        stored = self._stored_columns(indices[~padded])
        sources = zip((iter(entries(column)) for column in stored), self._padded)
        marks = padded.tolist()
        return [[value if mark else next(rest) for mark in marks] for rest, value in sources]

    def _stored_columns(self, indices: np.ndarray) -> list[Any]:
        found = self._records.gather(indices)
        return [
            _arrays(field, found[position]) for field, position in zip(self._fields, self._places)
        ]

    def labels(self, column: str) -> np.ndarray:
        """An index field of all rows, without reading the rows."""
        return np.array(self._records.values(column))

    def describe(self, index: int) -> str:
        if index >= self._stored:
            return f"padded row {index} of MindDataset"
        return f"row {index} of MindDataset ({self._records.file_of(index)})"


def _arrays(field: Field, values: Any) -> Any:
    """The values of a field as arrays: numbers in one, texts and bytes one by one."""
    if field.shape is not None:
        return values
    if field.type == "string":
        return [np.array(text) for text in values]
    if field.type == "bytes":
        return _byte_arrays(values)
    return np.array(values, field.type)


def _byte_arrays(values: Sequence[bytes]) -> Any:
    """Bytes of equal length in one array, others one by one."""
    size = len(values[0])
    if not size or any(len(data) != size for data in values):
        return [_byte_array(data) for data in values]
    return np.frombuffer(bytearray().join(values), f"S{size}").reshape(-1, 1)


def _byte_array(data: bytes) -> np.ndarray:
    """Bytes as one element of their length, so that trailing zeros are preserved."""
    return np.frombuffer(data, f"S{len(data)}") if data else np.array([b""])


def entries(column: Any) -> list[Any]:
    """The value of each row in a column."""
    if isinstance(column, np.ndarray):
        return [column[position, ...] for position in range(len(column))]
    return column


def _padded_value(name: str, field: Field, value: Any) -> np.ndarray:
    """A value of the padded sample, in the type of its column."""
    if field.type == "bytes" and isinstance(value, bytes):
        return _byte_array(value)
    array = np.asarray(value)
    is_text = field.type == "string"
    if field.type == "bytes" or is_text != (array.dtype.kind == "U"):
        raise problem(
            RuntimeError,
            f"MindDataset: the padded sample does not fit the column {name!r}",
            got=repr(value),
            expected=field.type,
        )
    return array if is_text else array.astype(field.type)
