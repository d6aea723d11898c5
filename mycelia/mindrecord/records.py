"""Reading rows of MindRecord files by number: lazily mapped, safe for many threads."""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from mycelia.core.errors import problem
from mycelia.mindrecord.exceptions import (
    MRMFetchDataError,
    MRMOpenError,
    MRMReadCategoryInfoError,
    MRMUnsupportedSchemaError,
)
from mycelia.mindrecord.header import LENGTH_SIZE, Header, damaged, read_header
from mycelia.mindrecord.index import count_categories, find_rows, read_places, read_values
from mycelia.mindrecord.messagepack import unpack
from mycelia.mindrecord.schema import Schema, scalar_value, values_of


class Records:
    """The rows of a dataset: of all shards beside one file, or of exactly the files in a list.

    `records[i]` is a dict of the chosen columns. Rows are in the order of the shards.
    """

    def __init__(
        self, paths: str | Path | Sequence[str | Path], columns: Sequence[str] | None = None
    ) -> None:
        self._paths = _shard_paths(paths)
        self._shards = [_Shard(path) for path in self._paths]
        _check_alike(self._shards)
        self._ends = list(accumulate(len(shard) for shard in self._shards))
        self._columns = None if columns is None else list(columns)
        self._scalars, self._blobs = _chosen(self.schema, columns)

    @property
    def schema(self) -> Schema:
        return self._shards[0].header.schema

    @property
    def columns(self) -> list[str]:
        """The columns of each row, in their order: scalars, then bytes and arrays."""
        return self._scalars + self._blobs

    @property
    def index_fields(self) -> list[str]:
        """The fields by which rows can be found."""
        return self._shards[0].header.index_fields

    @property
    def shard_sizes(self) -> list[int]:
        """How many rows each file has."""
        return [len(shard) for shard in self._shards]

    def select(self, columns: Sequence[str]) -> Records:
        """The same rows with these columns only."""
        return Records(list(self._paths), columns)

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, row: int) -> dict[str, Any]:
        number = row + len(self) if row < 0 else row
        if not 0 <= number < len(self):
            raise IndexError(f"row {row} of {len(self)} rows")
        shard = bisect_right(self._ends, number)
        start = self._ends[shard - 1] if shard else 0
        return self._shards[shard].read(number - start, self._scalars, self._blobs)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for shard in self._shards:
            for row in range(len(shard)):
                yield shard.read(row, self._scalars, self._blobs)

    def values(self, field: str) -> list[Any]:
        """An index field of all rows, without reading the rows."""
        self._check_index_field(field)
        return [v for s in self._shards for v in read_values(s.path, field, s.header.version)]

    def categories(self, field: str) -> dict[str, int]:
        """How many rows have each value of an index field; values as texts, sorted."""
        self._check_index_field(field)
        total: dict[str, int] = {}
        for shard in self._shards:
            counts = count_categories(shard.path, field, shard.header.version)
            for name, count in counts.items():
                total[name] = total.get(name, 0) + count
        return dict(sorted(total.items(), key=lambda item: item[0].encode()))

    def find(self, field: str, name: str) -> list[int]:
        """The rows in which an index field has a value, given as `categories` shows it."""
        self._check_index_field(field)
        starts = [0, *self._ends]
        return [
            start + row
            for start, shard in zip(starts, self._shards)
            for row in find_rows(shard.path, field, name, shard.header.version)
        ]

    def close(self) -> None:
        """Unmap the files. Reading a row maps its file again."""
        for shard in self._shards:
            shard.close()

    def __enter__(self) -> Records:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Records, (list(self._paths), self._columns)

    def _check_index_field(self, field: str) -> None:
        if field not in self.index_fields:
            raise problem(
                MRMReadCategoryInfoError,
                f"{field!r} is no index field",
                expected=", ".join(self.index_fields) or "a file written with index fields",
            )


class _Shard:
    """One data file: its header and the places of its rows; its bytes are mapped when needed."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                self.header: Header = read_header(path, file)
        except OSError as failed:
            raise problem(
                MRMOpenError,
                f"{path} cannot be opened: {failed.strerror}",
                fix="keep all shards beside each other, under the names they were written with",
            ) from failed
        self._places: np.ndarray = read_places(path, self.header)
        self._lock = Lock()
        self._data: mmap.mmap | None = None

    def __len__(self) -> int:
        return len(self._places)

    def read(self, row: int, scalars: Sequence[str], blobs: Sequence[str]) -> dict[str, Any]:
        """Some fields of a row."""
        raw_start, raw_end, blob_start, blob_end = self._places[row].tolist()
        schema, values = self.header.schema, {}
        try:
            if scalars:
                stored = unpack(self._record(raw_start, raw_end))
                values = {
                    name: scalar_value(schema.fields[name], stored.get(name)) for name in scalars
                }
            if blobs:
                blob = self._record(blob_start, blob_end)
                values |= values_of(schema, blob, blobs, compressed=self.header.compressed)
        except MRMUnsupportedSchemaError:
            raise
        except ValueError as broken:
            raise damaged(self.path, f"row {row}: {broken}", MRMFetchDataError) from broken
        return values

    def _record(self, start: int, end: int) -> bytes:
        data = self._data or self._map()
        record = data[start:end]
        if int.from_bytes(record[:LENGTH_SIZE], "little") != len(record) - LENGTH_SIZE:
            raise ValueError(f"no record of {end - start} bytes is at byte {start}")
        return record[LENGTH_SIZE:]

    def _map(self) -> mmap.mmap:
        with self._lock:
            if self._data is None:
                with open(self.path, "rb") as file:
                    self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return self._data

    def close(self) -> None:
        with self._lock:
            self._data = None  # unmapped when the last reader lets go of it


def _shard_paths(paths: str | Path | Sequence[str | Path]) -> list[str]:
    if not isinstance(paths, (str, Path)):
        if not paths:
            raise problem(MRMOpenError, "no files were given")
        return [str(path) for path in paths]
    folder = Path(paths).parent
    try:
        with open(paths, "rb") as file:
            names = read_header(str(paths), file).shard_names
    except OSError as failed:
        raise problem(MRMOpenError, f"{paths} cannot be opened: {failed.strerror}") from failed
    if not names or any(Path(name).name != name for name in names):
        raise damaged(str(paths), f"its shards have the names {names}")
    return [str(folder / name) for name in names]


def _check_alike(shards: Sequence[_Shard]) -> None:
    first = shards[0]
    for shard in shards[1:]:
        if shard.header.shared() != first.header.shared():
            raise problem(
                MRMOpenError,
                f"{first.path} and {shard.path} are of different datasets",
                expected="the same schema, index fields, version and sizes in all files",
            )


def _chosen(schema: Schema, columns: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """The scalar and the blob fields among the columns."""
    if columns is None:
        return schema.scalar_fields, schema.blob_fields
    unknown = [name for name in columns if name not in schema.fields]
    if unknown:
        raise problem(
            MRMOpenError,
            f"there is no column {unknown[0]!r}",
            expected=", ".join(schema.fields),
        )
    scalars = [name for name in schema.scalar_fields if name in columns]
    return scalars, [name for name in columns if schema.fields[name].is_blob]
