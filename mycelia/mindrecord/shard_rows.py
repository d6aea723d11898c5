"""Reading the rows of one data file; fields are decoded for many rows together."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.mindrecord.blob_encoding import read_numbers, split_many
from mycelia.mindrecord.contents import Buffer, content
from mycelia.mindrecord.exceptions import (
    MRMFetchDataError,
    MRMOpenError,
    MRMUnsupportedSchemaError,
)
from mycelia.mindrecord.header import LENGTH_SIZE, Header, damaged, read_header
from mycelia.mindrecord.index import check_index, read_places
from mycelia.mindrecord.messagepack import packed_names, unpack_known
from mycelia.mindrecord.schema import blob_column, scalar_column

Column = list[Any] | np.ndarray  # one value per row, or one array for all rows


class ShardRows:
    """A data file open for reading. Its bytes and row locations are loaded on demand."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            buffer = content(path)
        except OSError as failed:
            raise problem(
                MRMOpenError,
                f"{path} cannot be opened: {failed.strerror}",
                fix="keep all shards in one folder, under their original names",
            ) from failed
        self.header: Header = read_header(path, buffer)
        check_index(path, self.header)
        names = self.header.schema.scalar_fields
        self._names, self._keys = names, packed_names(names)
        self._lock = Lock()
        self._places: np.ndarray | None = None
        self._buffer: Buffer | None = buffer if isinstance(buffer, bytes) else None

    def __len__(self) -> int:
        return self.header.rows

    def gather(
        self, rows: np.ndarray, scalars: Sequence[str], blobs: Sequence[str]
    ) -> list[Column]:
        """Some fields of some rows: first the scalars, then the blobs."""
        try:
            return self._decoded(rows, scalars, blobs)
        except (ValueError, IndexError, MRMUnsupportedSchemaError) as broken:
            if len(rows) > 1:  # find the damaged row
                for row in rows:
                    self.gather(np.array([row]), scalars, blobs)
            if isinstance(broken, MRMUnsupportedSchemaError):
                raise
            raise damaged(self.path, f"row {rows[0]}: {broken}", MRMFetchDataError) from broken

    def close(self) -> None:
        """Unmap the file once the last reader releases it."""
        with self._lock:
            self._buffer = None

    def _decoded(
        self, rows: np.ndarray, scalars: Sequence[str], blobs: Sequence[str]
    ) -> list[Column]:
        indices = self._loaded_places()[rows]
        buffer = self._buffer or self._load()
        data = np.frombuffer(buffer, np.uint8)
        columns: list[Column] = []
        if scalars:
            spans = _checked_records(data, indices[:, 0], indices[:, 1])
            columns += self._scalars(buffer, *spans, scalars)
        if blobs:
            spans = _checked_records(data, indices[:, 2], indices[:, 3])
            columns += self._blobs(buffer, data, *spans, blobs)
        return columns

    def _scalars(
        self, buffer: Buffer, starts: np.ndarray, ends: np.ndarray, wanted: Sequence[str]
    ) -> list[Column]:
        names, keys = self._names, self._keys
        spans = zip(starts.tolist(), ends.tolist())
        known: dict[bytes, list[Any]] = {}  # small rows are often identical
        stored = []
        for start, end in spans:
            record = buffer[start:end]
            values = known.get(record)
            if values is None:
                values = known[record] = unpack_known(record, names, keys)
            stored.append(values)
        columns = dict(zip(names, zip(*stored)))
        fields = self.header.schema.fields
        return [scalar_column(fields[name], columns[name]) for name in wanted]

    def _blobs(
        self,
        buffer: Buffer,
        data: np.ndarray,
        starts: np.ndarray,
        ends: np.ndarray,
        wanted: Sequence[str],
    ) -> list[Column]:
        schema, compressed = self.header.schema, self.header.compressed
        try:
            order = schema.blob_fields
            spans = dict(zip(order, split_many(data, starts, ends, len(order))))
            return [
                blob_column(schema.fields[name], buffer, data, *spans[name], compressed=compressed)
                for name in wanted
            ]
        except ValueError as broken:
            raise problem(
                MRMUnsupportedSchemaError, f"the stored bytes do not fit the schema: {broken}"
            ) from broken

    def _loaded_places(self) -> np.ndarray:
        if self._places is None:
            with self._lock:
                if self._places is None:
                    self._places = read_places(self.path, self.header)
        return self._places

    def _load(self) -> Buffer:
        with self._lock:
            if self._buffer is None:
                self._buffer = content(self.path)
            return self._buffer


def _checked_records(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The start and end of records without their length prefixes, which are verified."""
    lengths = read_numbers(data, starts, "<i8")
    wrong = lengths != ends - starts - LENGTH_SIZE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"no record of {ends[row] - starts[row]} bytes is at byte {starts[row]}")
    return starts + LENGTH_SIZE, ends
