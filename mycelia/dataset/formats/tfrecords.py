"""The reader of TFRecord files: record offsets, and features as arrays."""

from __future__ import annotations

import gzip
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from mmap import ACCESS_READ, mmap
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import decoded
from mycelia.dataset.formats.records import entries
from mycelia.dataset.formats.schema import ColumnSchema
from mycelia.mindrecord.example import (
    BYTES_LIST,
    Raw,
    Values,
    many_numbers,
    parse_example,
    raw_features,
)
from mycelia.mindrecord.tfrecord import record_spans

_GZIP_START = b"\x1f\x8b"


class ExampleFile:
    """A file and the offsets of its records; a compressed one is decompressed into memory."""

    def __init__(self, path: str, compression: str) -> None:
        self.path = path
        self._compression = compression
        try:
            self._data = _content(path, compression)
            self._spans = record_spans(path, self._data)
        except (OSError, EOFError, zlib.error, ValueError) as broken:
            raise _no_file(path, str(broken)) from broken
        if not len(self._spans):
            raise _no_file(path, "it has no records")

    def __len__(self) -> int:
        return len(self._spans)

    def record(self, index: int) -> bytes:
        """The bytes of an example."""
        start, end = self._spans[index].tolist()
        return self._data[start:end]

    def __reduce__(self) -> tuple[Any, ...]:
        return ExampleFile, (self.path, self._compression)


def _content(path: str, compression: str) -> bytes | mmap:
    with open(path, "rb") as file:
        start = file.read(len(_GZIP_START))
        file.seek(0)
        if compression == "GZIP" and start == _GZIP_START:
            return gzip.decompress(file.read())
        if compression == "ZLIB":
            return zlib.decompress(file.read())
        return mmap(file.fileno(), 0, access=ACCESS_READ) if start else b""


def _no_file(path: str, why: str) -> RuntimeError:
    return problem(
        RuntimeError,
        f"TFRecordDataset: {path} is not a complete TFRecord file",
        got=why,
        fix="copy the file again; if it is compressed, set compression_type",
    )


class ExampleReader:
    """Rows of examples: the columns of a schema, or all features of the first example."""

    at_once = 256  # rows to read together

    def __init__(
        self,
        files: Sequence[ExampleFile],
        schema: Sequence[ColumnSchema] | None,
        wanted: Sequence[str] = (),
    ) -> None:
        self._files = tuple(files)
        self._ends = list(accumulate(len(file) for file in files))
        self._typed = schema is not None
        self._columns = tuple(self._found(wanted) if schema is None else schema)
        self.columns = tuple(column.name for column in self._columns)
        self._names = frozenset(self.columns)

    def __len__(self) -> int:
        return self._ends[-1]

    @property
    def file_sizes(self) -> list[int]:
        """How many rows each file has."""
        return [len(file) for file in self._files]

    def row(self, index: int) -> tuple[Any, ...]:
        example = self._example(index, self._names)
        return tuple([self._value(column, example, index) for column in self._columns])

    def rows(self, indices: Sequence[int]) -> list[tuple[Any, ...]]:
        """Several rows."""
        return list(zip(*map(entries, self.gather(indices))))

    def gather(self, indices: Sequence[int] | np.ndarray) -> list[Any]:
        """Several rows by column: one array, or a list if shapes differ or values are texts."""
        origins = [int(index) for index in indices]
        positions = [self._place(index) for index in origins]
        try:
            raws = [
                raw_features(self._files[file].record(position), self._names)
                for file, position in positions
            ]
            return [self._column(column, raws) for column in self._columns]
        except (ValueError, KeyError):  # read row by row, so that the error names the bad row
            return [list(column) for column in zip(*map(self.row, origins))]

    def _column(self, column: ColumnSchema, raws: Sequence[dict[str, Raw]]) -> Any:
        lists = [raw[column.name] for raw in raws]
        kinds = {kind for kind, _ in lists}
        if BYTES_LIST in kinds or len(kinds) != 1 or column.numpy.kind in "US":
            _check_texts(column, kinds)
            return [_texts(column, parts, filled=not self._typed) for _, parts in lists]
        packed = [parts[0] if len(parts) == 1 else b"".join(parts) for _, parts in lists]
        flat, counts = many_numbers(kinds.pop(), packed)
        if not self._typed and flat.dtype != column.numpy:
            raise ValueError("its type differs from the first row")
        return _split_rows(column, flat.astype(column.numpy, copy=False), counts.tolist())

    def describe(self, index: int) -> str:
        file, position = self._place(index)
        return f"row {position} of {self._files[file].path}"

    def _place(self, index: int) -> tuple[int, int]:
        file = bisect_right(self._ends, index)
        return file, index - (self._ends[file - 1] if file else 0)

    def _example(self, index: int, names: frozenset[str] | None) -> dict[str, Values]:
        file, position = self._place(index)
        try:
            return parse_example(self._files[file].record(position), names)
        except ValueError as broken:
            raise problem(
                RuntimeError,
                f"TFRecordDataset: {self.describe(index)} is not a valid tf.train.Example",
                got=str(broken),
            ) from broken

    def _found(self, wanted: Sequence[str]) -> list[ColumnSchema]:
        """The columns of the first example."""
        first = self._example(0, None)
        names = list(wanted) or sorted(first)
        absent = [name for name in names if name not in first]
        if absent:
            raise problem(
                RuntimeError,
                "TFRecordDataset: the first example has no such feature",
                got=", ".join(absent),
                expected=f"some of {', '.join(sorted(first))}",
            )
        return [ColumnSchema(name, _type_of(first[name])) for name in names]

    def _value(self, column: ColumnSchema, example: dict[str, Values], index: int) -> np.ndarray:
        values = example.get(column.name)
        try:
            if values is None:
                raise ValueError("the feature is missing")
            if isinstance(values, list):
                return _texts(column, values, filled=not self._typed)
            if not self._typed and column.type != values.dtype.name:
                raise ValueError(f"it holds {values.dtype.name}, in the first row {column.type}")
            if column.type in ("string", "bytes"):
                raise ValueError("it holds numbers")
            return _shaped(column, values.astype(column.type, copy=False))
        except ValueError as wrong:
            raise problem(
                RuntimeError,
                f"TFRecordDataset: {self.describe(index)} does not fit the column {column.name!r}",
                got=str(wrong),
                expected=f"{column.type} {list(column.shape or [-1])}",
            ) from wrong


def _check_texts(column: ColumnSchema, kinds: set[int]) -> None:
    """If one list holds bytes, or the column is text, all lists must hold bytes."""
    if kinds != {BYTES_LIST}:
        raise ValueError(f"the column {column.name!r} holds bytes and numbers")


def _split_rows(column: ColumnSchema, flat: np.ndarray, sizes: list[int]) -> Any:
    """The values of several rows, each in the shape of the column."""
    if len(set(sizes)) == 1:
        shape = (sizes[0],) if column.shape is None else column.shape
        return flat.reshape(len(sizes), *shape)
    bounds = [0, *accumulate(sizes)]
    return [_shaped(column, flat[start:end]) for start, end in pairwise(bounds)]


def _type_of(values: Values) -> str:
    return "uint8" if isinstance(values, list) else values.dtype.name


def _texts(column: ColumnSchema, values: list[bytes], *, filled: bool) -> np.ndarray:
    """Strings, or their bytes; shorter ones may be padded with spaces."""
    if column.type == "string":
        return _shaped(column, np.array([decoded(value) for value in values], np.str_))
    if column.type == "bytes":
        return _shaped(column, np.array(values, np.bytes_))
    if column.type != "uint8":
        raise ValueError("it holds bytes")
    if filled:
        longest = max(map(len, values), default=0)
        values = [value.ljust(longest) for value in values]
    elif not all(values):
        raise ValueError("one of its texts is empty")
    flat = np.frombuffer(bytearray().join(values), np.uint8)
    return flat if -1 in (column.shape or ()) else _shaped(column, flat)


def _shaped(column: ColumnSchema, flat: np.ndarray) -> np.ndarray:
    return flat if column.shape is None else flat.reshape(column.shape)
