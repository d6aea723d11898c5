"""Rows kept by number: in memory, then in a file that is mapped into memory."""

from __future__ import annotations

import json
import mmap
import os
import tempfile
import weakref
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import numpy as np

from mycelia import log
from mycelia.core.files import write_atomically
from mycelia.dataset.ir.caching import Keeping

Values = tuple[Any, ...]
Place = list[tuple[int, str, list[int]]]  # for each value: offset, type, shape


class Store:
    """Rows by number. A disk that fills up ends the keeping, never the run."""

    def __init__(self, keeping: Keeping) -> None:
        self._limit = keeping.megabytes * 2**20 or None
        self._memory: dict[int, Values] = {}
        self._bytes = 0
        self._file = _File(keeping) if keeping.folder or keeping.spilling else None
        self._only_file = keeping.folder is not None
        self.total = None if self._file is None or not self._file.is_done else len(self._file)
        self._lock = Lock()

    def get(self, number: int) -> Values | None:
        """The row, if it is kept."""
        row = self._memory.get(number)
        if row is None:
            return None if self._file is None else self._file.get(number)
        return tuple(value.copy() for value in row)

    def put(self, number: int, row: Values) -> None:
        """Keep a row, if there is room."""
        if not all(isinstance(value, np.ndarray) for value in row):
            return
        size = sum(value.nbytes for value in row)
        with self._lock:
            if number in self._memory:
                return
            if not self._only_file and (self._limit is None or self._bytes + size <= self._limit):
                self._memory[number] = tuple(value.copy() for value in row)
                self._bytes += size
                return
        if self._file is not None:
            self._file.put(number, row)

    def complete(self, rows: int) -> None:
        """Say that there are no more than `rows` rows: once all are there, a file is finished."""
        self.total = rows
        if self._file is not None:
            self._file.complete(rows)

    def __len__(self) -> int:
        return len(self._memory) + (0 if self._file is None else len(self._file))


class _File:
    """Rows one after another in a file; an index of a finished one lets others use it."""

    def __init__(self, keeping: Keeping) -> None:
        self._places: dict[int, Place] = {}
        self._lock = Lock()
        self._map: mmap.mmap | None = None
        self._end = 0
        self.is_done = self._is_full = False
        self._final = Path(keeping.folder) / f"{keeping.key}.rows" if keeping.folder else None
        if self._final is not None and self._found(self._final):
            return
        if self._final is not None:
            self._final.parent.mkdir(parents=True, exist_ok=True)
        folder = None if self._final is None else str(self._final.parent)
        handle, self._path = tempfile.mkstemp(prefix="mycelia-", suffix=".rows", dir=folder)
        self._file: BinaryIO = os.fdopen(handle, "w+b", buffering=0)
        self._remove = weakref.finalize(self, _remove, self._path)

    def _found(self, final: Path) -> bool:
        index = final.with_suffix(".index")
        if not (final.is_file() and index.is_file()):
            return False
        self._places = {int(n): p for n, p in json.loads(index.read_text()).items()}
        self._file = final.open("rb")
        self._end = final.stat().st_size
        self.is_done = True
        return True

    def __len__(self) -> int:
        return len(self._places)

    def get(self, number: int) -> Values | None:
        place = self._places.get(number)
        if place is None:
            return None
        memory = self._mapped(place)
        return tuple(_array(memory, *entry) for entry in place)

    def _mapped(self, place: Place) -> mmap.mmap:
        with self._lock:
            last, kind, shape = place[-1]
            end = last + np.dtype(kind).itemsize * int(np.prod(shape))
            if self._map is None or len(self._map) < end:
                self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            return self._map

    def put(self, number: int, row: Values) -> None:
        with self._lock:
            if self.is_done or self._is_full or number in self._places:
                return
            try:
                self._places[number] = [self._written(value) for value in row]
            except OSError as error:
                self._is_full = True
                log.warning(
                    f"cache: no more rows are kept after {len(self._places)}, the others are made "
                    f"anew each time: {error}"
                )

    def _written(self, value: np.ndarray) -> tuple[int, str, list[int]]:
        begin = self._end
        data = memoryview(np.ascontiguousarray(value).tobytes())
        os.lseek(self._file.fileno(), begin, os.SEEK_SET)
        while data:
            data = data[self._file.write(data) :]
        self._end += -(-value.nbytes // 64) * 64
        os.truncate(self._file.fileno(), self._end)
        return begin, value.dtype.str, list(value.shape)

    def complete(self, rows: int) -> None:
        with self._lock:
            if self._final is None or self.is_done or len(self._places) < rows:
                return
            self.is_done = True
            os.replace(self._path, self._final)
            self._remove.detach()
            index = json.dumps(self._places).encode()
            write_atomically(self._final.with_suffix(".index"), [index])


def _array(memory: mmap.mmap, begin: int, kind: str, shape: list[int]) -> np.ndarray:
    count = int(np.prod(shape))
    if count == 0:
        return np.empty(shape, kind)
    return np.frombuffer(memory, kind, count, begin).reshape(shape).copy()


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


_stores: weakref.WeakKeyDictionary[Keeping, Store] = weakref.WeakKeyDictionary()
_lock = Lock()


def store_of(keeping: Keeping) -> Store:
    """The store that all runs over one `cache` share."""
    with _lock:
        if keeping not in _stores:
            _stores[keeping] = Store(keeping)
        return _stores[keeping]
