"""Random access to the rows of MindRecord files: memory-mapped and thread-safe."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.mindrecord.contents import content
from mycelia.mindrecord.exceptions import MRMOpenError, MRMReadCategoryInfoError
from mycelia.mindrecord.header import damaged, read_header
from mycelia.mindrecord.index import count_categories, find_rows, read_values
from mycelia.mindrecord.schema import MindRecordSchema
from mycelia.mindrecord.shard_rows import Column, ShardRows

_CHUNK = 64  # rows that are decoded together in sequential reading


class Records(CheckedKeywords):
    """The rows of a dataset: of all shards next to one file, or of exactly the files in a list.

    `records[i]` is a dict of the chosen columns. Rows are in the order of the shards.
    """

    def __init__(
        self, paths: str | Path | Sequence[str | Path], columns: Sequence[str] | None = None
    ) -> None:
        self._paths = _shard_paths(paths)
        self._shards = [ShardRows(path) for path in self._paths]
        _check_alike(self._shards)
        self._ends = list(accumulate(len(shard) for shard in self._shards))
        self._columns = None if columns is None else list(columns)
        self._scalars, self._blobs = _chosen(self.schema, columns)

    @property
    def schema(self) -> MindRecordSchema:
        return self._shards[0].header.schema

    @property
    def columns(self) -> list[str]:
        """The columns of each row, in order: scalars, then bytes and arrays."""
        return self._scalars + self._blobs

    @property
    def index_fields(self) -> list[str]:
        """The fields by which `find` can search."""
        return self._shards[0].header.index_fields

    @property
    def shard_sizes(self) -> list[int]:
        """How many rows each file has."""
        return [len(shard) for shard in self._shards]

    def file_of(self, row: int) -> str:
        """The file that contains a row."""
        return self._paths[bisect_right(self._ends, row)]

    def select(self, columns: Sequence[str]) -> Records:
        """The same rows with only these columns."""
        return Records(list(self._paths), columns)

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, row: int) -> dict[str, Any]:
        number = row + len(self) if row < 0 else row
        if not 0 <= number < len(self):
            raise IndexError(f"row {row} of {len(self)} rows")
        return next(self._dicts([number]))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start in range(0, len(self), _CHUNK):
            yield from self._dicts(range(start, min(start + _CHUNK, len(self))))

    def _dicts(self, rows: Sequence[int]) -> Iterator[dict[str, Any]]:
        for values in zip(*self.gather(rows)):
            yield dict(zip(self.columns, values))

    def gather(self, rows: Sequence[int] | np.ndarray) -> list[Column]:
        """Several rows by column: a list of values, or one array if the values fit one."""
        numbers = np.asarray(rows, np.int64)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(self):
            raise IndexError(f"rows {numbers.min()} to {numbers.max()} of {len(self)} rows")
        if len(self._shards) == 1 and len(numbers):
            return self._shards[0].gather(numbers, self._scalars, self._blobs)
        shards = np.searchsorted(self._ends, numbers, "right")
        parts = []
        for shard in np.unique(shards).tolist():
            chosen = numbers[shards == shard] - (self._ends[shard - 1] if shard else 0)
            parts.append(self._shards[shard].gather(chosen, self._scalars, self._blobs))
        if len(parts) <= 1:
            return parts[0] if parts else [[] for _ in self.columns]
        place = np.argsort(np.argsort(shards, kind="stable"))  # position of each row in the result
        return [_merged(columns, place) for columns in zip(*parts)]

    def values(self, field: str) -> list[Any]:
        """The values of an index field for all rows, without reading the rows."""
        self._check_index_field(field)
        return [v for s in self._shards for v in read_values(s.path, field, s.header.version)]

    def categories(self, field: str) -> dict[str, int]:
        """How many rows have each value of an index field; values are strings, sorted."""
        self._check_index_field(field)
        total: dict[str, int] = {}
        for shard in self._shards:
            counts = count_categories(shard.path, field, shard.header.version)
            for name, count in counts.items():
                total[name] = total.get(name, 0) + count
        return dict(sorted(total.items(), key=lambda item: item[0].encode()))

    def find(self, field: str, name: str) -> list[int]:
        """The rows in which an index field has a value, in the form of `categories`."""
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
                f"{field!r} is not an index field",
                expected=", ".join(self.index_fields) or "a file written with index fields",
            )


def _merged(parts: Sequence[Column], indices: np.ndarray) -> Column:
    """The values of several shards, in the order of the rows."""
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts) and len({array.shape[1:] for array in arrays}) == 1:
        return np.concatenate(arrays)[indices]
    values = list(chain.from_iterable(parts))
    return [values[place] for place in indices.tolist()]


def _shard_paths(paths: str | Path | Sequence[str | Path]) -> list[str]:
    if not isinstance(paths, (str, Path)):
        if not paths:
            raise problem(MRMOpenError, "the list of files is empty")
        return [str(path) for path in paths]
    folder = Path(paths).parent
    try:
        names = read_header(str(paths), content(str(paths))).shard_names
    except OSError as failed:
        raise problem(MRMOpenError, f"{paths} cannot be opened: {failed.strerror}") from failed
    if not names or any(Path(name).name != name for name in names):
        raise damaged(str(paths), f"its shards have the names {names}")
    return [str(folder / name) for name in names]


def _check_alike(shards: Sequence[ShardRows]) -> None:
    first = shards[0]
    for shard in shards[1:]:
        if shard.header.shared() != first.header.shared():
            raise problem(
                MRMOpenError,
                f"{first.path} and {shard.path} belong to different datasets",
                expected="the same schema, index fields, version, and sizes in all files",
            )


def _chosen(schema: MindRecordSchema, columns: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """The scalar fields and the blob fields among the columns."""
    if columns is None:
        return schema.scalar_fields, schema.blob_fields
    unknown = [name for name in columns if name not in schema.fields]
    if unknown:
        raise problem(
            MRMOpenError,
            f"unknown column {unknown[0]!r}",
            expected=", ".join(schema.fields),
        )
    scalars = [name for name in schema.scalar_fields if name in columns]
    return scalars, [name for name in columns if schema.fields[name].is_blob]
