"""A data file being written: a new one, or one to which rows are appended."""

from __future__ import annotations

import mmap
import os
import stat
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.atomic_write import open_locked, remove_unfinished, unfinished_name
from mycelia.mindrecord.encryption import seal, seals
from mycelia.mindrecord.exceptions import MRMValidateDataError
from mycelia.mindrecord.header import LENGTH_SIZE, Header, encode_header
from mycelia.mindrecord.index import index_path, write_index
from mycelia.mindrecord.messagepack import pack, unpack
from mycelia.mindrecord.pages import PageWriter, record, walk
from mycelia.mindrecord.schema import blob_of, scalars_of

_MODE = stat.S_IRUSR | stat.S_IWUSR


@dataclass(frozen=True)
class PackedRow:
    """The encoded records of a row, and how many bytes compression saved."""

    raw: bytes
    blob: bytes
    saved: int


def pack_row(header: Header, row: Mapping[str, Any]) -> PackedRow:
    """Encode a row that matches the schema."""
    try:
        raw = pack(scalars_of(header.schema, row))
    except UnicodeEncodeError as wrong:
        raise problem(MRMValidateDataError, f"a string is not valid Unicode: {wrong}") from wrong
    blob, saved = blob_of(header.schema, row)
    raw_record = record(header, raw, "the scalar fields")
    return PackedRow(raw_record, record(header, blob, "the bytes and arrays"), saved)


class ShardFile:
    """A data file open for writing. Nothing is visible to readers before `publish`."""

    def __init__(self, path: str, header: Header, *, append: bool = False) -> None:
        self.path = path
        self.saved = 0
        self._append = append
        self._head = b""
        target = Path(path)
        remove_unfinished(target.parent)
        temporary = unfinished_name(target)
        self._data_path = target if append else temporary
        self._index_path = Path(index_path(str(temporary)))
        self._file: BinaryIO = target.open("r+b") if append else open_locked(temporary)
        self._pages = PageWriter(self._file, header)
        left = [self._index_path] if append else [temporary, self._index_path]
        self._discard = weakref.finalize(self, _discard, self._file, left)

    @property
    def header(self) -> Header:
        return self._pages.header

    def write(self, rows: Sequence[PackedRow]) -> None:
        """Append rows."""
        self._pages.write([row.raw for row in rows], [row.blob for row in rows])
        self.saved += sum(row.saved for row in rows)

    def prepare(self) -> None:
        """Write everything that can fail: the header of a new file, and the index."""
        self._head = encode_header(self.header)
        if not self._append:
            self._write_head()
        self._sync()
        write_index(str(self._index_path), self.header, Path(self.path).name, self._index_rows())
        if seals():
            seal(self._data_path)
            seal(self._index_path)

    def publish(self) -> None:
        """Rename both files to their final names; appended rows become visible."""
        if self._append:
            self._write_head()
            self._sync()
        for file in (self._data_path, self._index_path):
            file.chmod(_MODE)
        os.replace(self._index_path, index_path(self.path))
        if not self._append:
            os.replace(self._data_path, self.path)
        self.discard()

    def discard(self) -> None:
        """Close the file, and remove unpublished files."""
        self._discard()

    def _write_head(self) -> None:
        self._file.seek(0)
        self._file.write(self._head)

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def _index_rows(self) -> Iterator[tuple[Any, ...]]:
        fields = self.header.index_fields
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for place in walk(self.path, self.header, data):
                base = self.header.place(place.raw_page)
                start, end = base + place.raw_start + LENGTH_SIZE, base + place.raw_end
                values = unpack(data[start:end]) if fields else {}
                yield (*astuple(place), *(values[name] for name in fields))


def _discard(file: BinaryIO, paths: Sequence[Path]) -> None:
    file.close()
    for path in paths:
        path.unlink(missing_ok=True)
