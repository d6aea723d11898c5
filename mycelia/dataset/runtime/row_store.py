"""Storage of cached rows by index: in memory, then in a memory-mapped file."""

from __future__ import annotations

import json
import mmap
import os
import struct
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np

from mycelia import log
from mycelia._engine.core.files.text_files import json_value
from mycelia.dataset.ir.cache import CacheOptions

Values = tuple[Any, ...]
Place = list[Any]  # per value: offset, type, shape, and checksum, or a dict of them
_FOOT = struct.Struct("<QI")  # footer of a finished file: size and checksum of its index


class RowStore:
    """Cached rows by index. If the disk fills up, caching stops; the run continues."""

    def __init__(self, options: CacheOptions) -> None:
        self._limit = options.megabytes * 2**20 or None
        self._memory: dict[int, Values] = {}
        self._bytes = 0
        self._file = _RowFile(options) if options.folder or options.spilling else None
        self._only_file = options.folder is not None
        self.total = None if self._file is None or not self._file.is_done else len(self._file)
        self._lock = Lock()

    def get(self, number: int) -> Values | None:
        """The row, or None if it is not stored."""
        row = self._memory.get(number)
        if row is None:
            return None if self._file is None else self._file.get(number)
        return tuple(_each(value, np.copy) for value in row)

    def put(self, number: int, row: Values) -> None:
        """Store a row, if there is space."""
        size = sum(map(_size, row))
        with self._lock:
            if number in self._memory:
                return
            if not self._only_file and (self._limit is None or self._bytes + size <= self._limit):
                self._memory[number] = tuple(_each(value, np.copy) for value in row)
                self._bytes += size
                return
        if self._file is not None:
            self._file.put(number, row)

    def complete(self, rows: int) -> None:
        """Set the total number of rows; once all are stored, the file is finished."""
        self.total = rows
        if self._file is not None:
            self._file.complete(rows)

    def __len__(self) -> int:
        return len(self._memory) + (0 if self._file is None else len(self._file))


class _RowFile:
    """Rows in a file; an index at the end of a finished file lets other processes use it.

    A file gets its final name when it is finished, so other processes only find complete files.
    """

    def __init__(self, options: CacheOptions) -> None:
        self._places: dict[int, Place] = {}
        self._lock = Lock()
        self._map: mmap.mmap | None = None
        self._end = 0
        self._was_found = False  # whether another process wrote the file
        self._checked: set[int] = set()  # offsets of values whose checksum is verified
        self.is_done = self._is_full = False
        self._final = Path(options.folder) / f"{options.key}.rows" if options.folder else None
        if self._final is not None and self._final.is_file() and self._found(self._final):
            return
        if self._final is not None:
            self._final.parent.mkdir(parents=True, exist_ok=True)
        folder = None if self._final is None else str(self._final.parent)
        handle, self._path = tempfile.mkstemp(prefix="mycelia-", suffix=".part", dir=folder)
        self._file: BinaryIO = os.fdopen(handle, "w+b", buffering=0)
        self._remove = weakref.finalize(self, _remove, self._path)

    def _found(self, final: Path) -> bool:
        """Open a finished file; a damaged one is written again."""
        try:
            self._file = final.open("rb")
            self._file.seek(-_FOOT.size, os.SEEK_END)
            size, checksum = _FOOT.unpack(self._file.read(_FOOT.size))
            index = b""
            if size <= self._file.tell():
                self._file.seek(-_FOOT.size - size, os.SEEK_END)
                index = self._file.read(size)
            if crc32(index) != checksum or not index:
                raise ValueError("the checksum of its index does not match")
            self._places = {int(n): p for n, p in json_value(index).items()}
        except (OSError, ValueError) as error:
            log.warning(f"cache: {final} is damaged and is written again: {error}")
            return False
        self.is_done = self._was_found = True
        return True

    def __len__(self) -> int:
        return len(self._places)

    def get(self, number: int) -> Values | None:
        """The row, if stored; rows that another process wrote are verified on first access."""
        place = self._places.get(number)
        try:
            return None if place is None else tuple(_each(entry, self._read) for entry in place)
        except ValueError as error:
            log.warning(
                f"cache: row {number} of {self._final} is damaged and is computed again: {error}"
            )
            self._places.pop(number, None)
            return None

    def _read(self, entry: tuple[int, str, list[int], int]) -> np.ndarray:
        begin, kind, shape, checksum = entry
        array = np.empty(shape, kind)
        if array.nbytes:
            memory = self._mapped(begin + array.nbytes)
            array.reshape(-1)[:] = np.frombuffer(memory, kind, array.size, begin)
            if self._was_found and begin not in self._checked:
                if crc32(memory[begin : begin + array.nbytes]) != checksum:
                    raise ValueError("its checksum does not match")
                self._checked.add(begin)
        return array

    def _mapped(self, end: int) -> mmap.mmap:
        with self._lock:
            if self._map is None or len(self._map) < end:
                self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            return self._map

    def put(self, number: int, row: Values) -> None:
        with self._lock:
            if self.is_done or self._is_full or number in self._places:
                return
            with self._as_long_as_it_fits():
                self._places[number] = [_each(value, self._written) for value in row]

    def complete(self, rows: int) -> None:
        with self._lock:
            if self._final is None or self.is_done or self._is_full or len(self._places) < rows:
                return
            with self._as_long_as_it_fits():
                index = json.dumps(self._places).encode()
                self._append(index + _FOOT.pack(len(index), crc32(index)))
                os.replace(self._path, self._final)
                self._remove.detach()
                self.is_done = True

    @contextmanager
    def _as_long_as_it_fits(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._is_full = True
            log.warning(
                f"cache: caching stops after {len(self._places)} rows, the others are computed "
                f"every time: {error}"
            )

    def _written(self, value: np.ndarray) -> tuple[int, str, list[int], int]:
        begin, content = self._end, value.tobytes()
        self._append(content)
        self._end = -(-(begin + value.nbytes) // 64) * 64
        kind = value.dtype.name if value.dtype.kind == "V" else value.dtype.str  # such as bfloat16
        return begin, kind, list(value.shape), crc32(content)

    def _append(self, data: bytes) -> None:
        """Write at the end; the gap after the previous value is filled with zeros."""
        self._file.seek(self._end)
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]


def _each(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to a value of a row, or to each entry of a dict."""
    if isinstance(value, dict):
        return {key: _each(entry, function) for key, entry in value.items()}
    return function(value)


def _size(value: Any) -> int:
    return sum(map(_size, value.values())) if isinstance(value, dict) else value.nbytes


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


_stores: weakref.WeakKeyDictionary[CacheOptions, RowStore] = weakref.WeakKeyDictionary()
_lock = Lock()


def store_of(options: CacheOptions) -> RowStore:
    """The store that all runs with one `cache` share."""
    with _lock:
        if options not in _stores:
            _stores[options] = RowStore(options)
        return _stores[options]
