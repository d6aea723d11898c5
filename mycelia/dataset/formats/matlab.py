"""MATLAB files of level 5 (MATLAB 5 to 7.2), plain or compressed: arrays, cells, and structures.

The layout is described in MathWorks, "MAT-File Format". Sizes in a file are checked before they are
used: libraries that trust them crash on damaged files.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.image_rows import needed_file

_HEAD, _TAG = 128, 8  # bytes
_MATRIX, _COMPRESSED = 14, 15  # types of elements
_NUMBERS = {
    **{1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8"},
    **{13: "u8", 16: "u1", 17: "u2", 18: "u4"},
}
_CELL, _STRUCTURE, _TEXT, _SPARSE = 1, 2, 4, 5  # classes of arrays
_NUMERIC = range(6, 16)
_COMPLEX = 0x800
_MOST = 1 << 28  # maximum elements of a sparse array, which is made dense
_DEPTH = 16  # maximum nesting of cells


class _Element(NamedTuple):
    kind: int
    data: memoryview


class _Array(NamedTuple):
    """An array before its content is parsed."""

    name: str
    kind: int
    shape: tuple[int, ...]
    parts: Iterator[_Element]


def read_matlab(path: Path, names: tuple[str, ...], owner: str) -> list[Any]:
    """The named arrays of a file: a list of dicts for an array of structures."""
    needed_file(path, owner, FileNotFoundError)
    try:
        told = _MatFileReader(path.read_bytes()).arrays(names)
    except ValueError as error:
        raise problem(
            RuntimeError, f"{owner}: the file is not a valid MATLAB file", got=f"{path}: {error}"
        ) from None
    absent = [name for name in names if name not in told]
    if absent:
        raise problem(
            RuntimeError,
            f"{owner}: the MATLAB file lacks an array",
            got=f"{', '.join(absent)} in {path}",
        )
    return [told[name] for name in names]


class _MatFileReader:
    """Parses the bytes of a file. Raises ValueError for invalid bytes."""

    def __init__(self, data: bytes) -> None:
        order = {b"IM": "<", b"MI": ">"}.get(data[_HEAD - 2 : _HEAD])
        if len(data) < _HEAD or order is None:
            raise ValueError("it does not start like files of MATLAB 5 to 7.2")
        self._order = order
        self._data = memoryview(data)[_HEAD:]

    def arrays(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The arrays with those names."""
        found = {}
        for element in self._elements(self._data):
            if element.kind == _COMPRESSED:
                element = next(self._elements(memoryview(_inflated(element.data))), element)
            if element.kind != _MATRIX:
                raise ValueError(f"an element of type {element.kind} where an array should be")
            array = self._array(element)
            if array is not None and array.name in names:
                found[array.name] = self._content(array, 0)
        return found

    def _elements(self, data: memoryview) -> Iterator[_Element]:
        """The elements in order; small ones are stored inside their tag."""
        index = 0
        while index < len(data):
            first, size = self._words(data[index : index + _TAG])
            if first >> 16:
                kind, size, start, padded = first & 0xFFFF, first >> 16, index + 4, 4
            else:
                kind, start = first, index + _TAG
                padded = size if kind == _COMPRESSED else -(-size // 8) * 8
            if size > padded or start + size > len(data):
                raise ValueError(f"an element of {size} bytes at byte {index} of {len(data)}")
            yield _Element(kind, data[start : start + size])
            index = start + padded

    def _words(self, data: memoryview) -> tuple[int, int]:
        if len(data) < _TAG:
            raise ValueError("it ends inside an element")
        first, second = np.frombuffer(data, f"{self._order}u4", 2).tolist()
        return first, second

    def _array(self, element: _Element) -> _Array | None:
        """The header of an array; None for an empty one."""
        if element.kind != _MATRIX:
            raise ValueError(f"an element of type {element.kind} where an array should be")
        if not element.data:
            return None
        parts = self._elements(element.data)
        flags = self._numbers(parts)
        shape = tuple(self._numbers(parts).tolist())
        name = self._numbers(parts).tobytes().decode("latin-1")
        if flags.size < 2 or len(shape) < 2 or min(shape) < 0:
            raise ValueError(f"an array of shape {shape}")
        if int(flags[0]) & _COMPLEX:
            raise ValueError(f"the array {name!r:.80} has complex numbers")
        return _Array(name, int(flags[0]) & 0xFF, shape, parts)

    def _numbers(self, parts: Iterator[_Element]) -> np.ndarray:
        """The values of the next element."""
        element = next(parts, None)
        if element is None or element.kind not in _NUMBERS:
            raise ValueError("an array whose numbers are missing")
        kind = np.dtype(self._order + _NUMBERS[element.kind])
        if len(element.data) % kind.itemsize:
            raise ValueError(f"{len(element.data)} bytes of numbers of {kind.itemsize}")
        return np.frombuffer(element.data, kind)

    def _content(self, array: _Array, depth: int) -> Any:
        if depth > _DEPTH:
            raise ValueError("cells nested too deeply")
        if array.kind == _CELL:
            return self._cells(array, depth)
        if array.kind == _STRUCTURE:
            return self._structures(array, depth)
        if array.kind == _SPARSE:
            return self._full(array)
        if array.kind not in _NUMERIC and array.kind != _TEXT:
            raise ValueError(f"an array of class {array.kind}")
        return _shaped(self._numbers(array.parts), array.shape)

    def _inner(self, parts: Iterator[_Element], depth: int) -> Any:
        """The next nested array."""
        element = next(parts, None)
        if element is None:
            raise ValueError("a nested array is missing")
        found = self._array(element)
        return np.empty((0, 0)) if found is None else self._content(found, depth + 1)

    def _cells(self, array: _Array, depth: int) -> np.ndarray:
        count = _counted(array.shape)
        cells = [self._inner(array.parts, depth) for _ in range(count)]
        found = np.empty(count, object)
        for index, cell in enumerate(cells):
            found[index] = cell
        return _shaped(found, array.shape)

    def _structures(self, array: _Array, depth: int) -> list[dict[str, Any]]:
        (length,) = self._numbers(array.parts).tolist()[:1] or [0]
        text = self._numbers(array.parts).tobytes()
        if length < 1 or len(text) % length:
            raise ValueError(f"names of {length} letters in {len(text)} bytes")
        names = [
            text[start : start + length].split(b"\0")[0].decode("latin-1")
            for start in range(0, len(text), length)
        ]
        if not names:
            raise ValueError("a structure without fields")
        return [
            {name: self._inner(array.parts, depth) for name in names}
            for _ in range(_counted(array.shape))
        ]

    def _full(self, array: _Array) -> np.ndarray:
        """Convert a sparse array to a dense one: row indices, then the end of each column."""
        rows, starts = self._numbers(array.parts), self._numbers(array.parts)
        numbers = self._numbers(array.parts)
        height, width = array.shape if len(array.shape) == 2 else (-1, -1)
        if height < 0 or height * width > _MOST or len(starts) != width + 1:
            raise ValueError(f"a sparse array of shape {array.shape}")
        ends = starts.astype(np.int64)
        counts = ends[1:] - ends[:-1]
        used = int(starts[-1])
        if starts[0] or (counts < 0).any() or used > min(len(rows), len(numbers)):
            raise ValueError("the columns of a sparse array contradict each other")
        rows = rows[:used].astype(np.int64)
        if ((rows < 0) | (rows >= height)).any():
            raise ValueError("an element outside of a sparse array")
        found = np.zeros((height, width), numbers.dtype.newbyteorder("="))
        found[rows, np.repeat(np.arange(width), counts)] = numbers[:used]
        return found


def _counted(shape: tuple[int, ...]) -> int:
    count = prod(shape)
    if count > _MOST:
        raise ValueError(f"{count} nested arrays")
    return count


def _shaped(numbers: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Reshape values in Fortran order, with this machine's byte order."""
    if prod(shape) != numbers.size:
        raise ValueError(f"{numbers.size} numbers for shape {shape}")
    kind = numbers.dtype.newbyteorder("=")
    return numbers.astype(kind, copy=False).reshape(shape, order="F")


def _inflated(data: memoryview) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error as error:
        raise ValueError(f"its compressed bytes are damaged: {error}") from None
