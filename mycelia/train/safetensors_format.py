"""The safetensors layout: a JSON header with places, then the numbers of all tensors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from mycelia._engine.core.dtype import by_name
from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import json_value
from mycelia._engine.core.shape import Shape

_ALIGNMENT = 8
_MOST = 100 * 1024 * 1024  # bytes of a header; what says more is no such file
_METADATA = "__metadata__"
_CRC = "crc_num"  # of the names and numbers, as MindSpore has it
_HEAD_CRC = "mycelia.head"  # of the rest of the header: dtypes, shapes, places, metadata
_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "uint16": "U16",
    "float16": "F16",
    "bfloat16": "BF16",
    "int32": "I32",
    "uint32": "U32",
    "float32": "F32",
    "float64": "F64",
    "int64": "I64",
    "uint64": "U64",
}
_DTYPES = {theirs: ours for ours, theirs in _NAMES.items()}


@dataclass(frozen=True)
class SafetensorsEntry:
    """A tensor in a file; `begin` is counted in bytes from the start of the file."""

    dtype: Any
    shape: Shape
    begin: int


def encode(named: Sequence[tuple[str, Any]], check: bool) -> Iterator[bytes]:
    """The bytes of a file with some tensors by name; texts become metadata."""
    arrays = {n: np.asarray(t, order="C") for n, t in named if not isinstance(t, str)}
    metadata = {"format": "ms"} | {n: t for n, t in named if isinstance(t, str)}
    if check:
        metadata = {_CRC: str(_checksum(arrays))} | metadata
    kinds = {name: (array.dtype.name, array.shape) for name, array in arrays.items()}
    yield head(kinds, metadata, check)
    for array in arrays.values():
        yield array.tobytes()


def head(kinds: Mapping[str, tuple[str, Shape]], metadata: Mapping[str, str], check: bool) -> bytes:
    """What a file begins with: the dtypes and shapes of the tensors that follow, in their order.

    With `check` it has a checksum of its own.
    """
    header: dict[str, Any] = {_METADATA: dict(metadata)}
    end = 0
    for name, (dtype, shape) in kinds.items():
        start, end = end, end + prod(shape) * by_name(checked_dtype(name, dtype)).numpy.itemsize
        header[name] = {
            "dtype": _NAMES[dtype],
            "shape": list(shape),
            "data_offsets": [start, end],
        }
    if check:
        header[_METADATA][_HEAD_CRC] = str(_head_checksum(header))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def checked_dtype(name: str, dtype: str) -> str:
    """The dtype of a tensor, which such files can hold."""
    if dtype not in _NAMES:
        raise problem(
            TypeError,
            f"save_checkpoint: files of format 'safetensors' cannot hold {name}",
            got=dtype,
            expected=f"one of {', '.join(_NAMES)}",
            fix="save it as real and imaginary part, or in a whole file of format 'ckpt'",
        )
    return dtype


def decode(data: memoryview, check: bool) -> dict[str, Any]:
    """Arrays by name. Raises ValueError or TypeError for bytes that are no such file."""
    header, content = _split(data)
    metadata = header.pop(_METADATA)
    arrays = {name: _array(place, content) for name, place in header.items()}
    if check and _CRC in metadata and metadata[_CRC] != str(_checksum(arrays)):
        raise ValueError("its checksum is not that of its numbers")
    return arrays


def places(path: Path) -> tuple[dict[str, SafetensorsEntry], dict[str, str]]:
    """Where the tensors of a file are, and its metadata; no numbers are read. Raises as `decode`.

    A file that ends before its last tensor does is refused.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(_MOST, size - 8):
            raise ValueError("its header is longer than the file")
        header = _header(file.read(length))
    metadata = header.pop(_METADATA)
    found = {}
    for name, place in header.items():
        dtype, shape, start, end = _place(place, size - 8 - length)
        if end - start != prod(shape) * dtype.itemsize:
            raise ValueError(f"{end - start} bytes for {name} of shape {shape}")
        found[name] = SafetensorsEntry(dtype, tuple(shape), 8 + length + start)
    return found, metadata


def has_checksum(data: memoryview) -> bool:
    """Whether such a file holds a checksum of its numbers. Raises as `decode` does."""
    return _CRC in _split(data)[0][_METADATA]


def _split(data: memoryview) -> tuple[dict[str, Any], memoryview]:
    """The header, and the numbers behind it."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(_MOST, len(data) - 8):
        raise ValueError("its header is longer than the file")
    return _header(bytes(data[8 : 8 + size])), data[8 + size :]


def _header(text: bytes) -> dict[str, Any]:
    header = json_value(text)
    if not isinstance(header, dict):
        raise ValueError("its header is no object")
    metadata = header.setdefault(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError("the metadata in its header are no texts")
    if _HEAD_CRC in metadata and metadata[_HEAD_CRC] != str(_head_checksum(header)):
        raise ValueError("the checksum of its header is not that of its content")
    return header


def _head_checksum(header: dict[str, Any]) -> int:
    """The checksum of a header without the entry that holds it."""
    metadata = {name: text for name, text in header[_METADATA].items() if name != _HEAD_CRC}
    entries = [[name, place] for name, place in header.items() if name != _METADATA]
    return crc32(json.dumps([entries, metadata], sort_keys=True).encode())


def _array(place: Any, content: memoryview) -> np.ndarray:
    dtype, shape, start, end = _place(place, len(content))
    return np.frombuffer(content[start:end], dtype).reshape(shape)


def _place(place: Any, length: int) -> tuple[Any, list[int], int, int]:
    """What an entry of the header says, of a file with so many bytes of numbers."""
    try:
        dtype, shape = by_name(_DTYPES[place["dtype"]]).numpy, place["shape"]
        start, end = place["data_offsets"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"an entry of its header is not understood: {place!r:.200}") from error
    if not isinstance(shape, list) or any(
        type(n) is not int or n < 0 for n in (*shape, start, end)
    ):
        raise ValueError(f"an entry of its header has other sizes than counts: {place!r:.200}")
    if not 0 <= start <= end <= length:
        raise ValueError(f"numbers from {start} to {end} of {length} bytes")
    return np.dtype(dtype), shape, start, end


def _checksum(arrays: dict[str, np.ndarray]) -> int:
    found = 0
    for name in sorted(arrays):
        found = crc32(arrays[name].tobytes(), crc32(name.encode(), found))
    return found
