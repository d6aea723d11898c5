"""The safetensors format: a JSON header with offsets, followed by the data of all tensors."""

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
_MOST = 100 * 1024 * 1024  # maximum bytes of a header; other files are not safetensors
_METADATA = "__metadata__"
_CRC = "crc_num"  # checksum of names and data, as in MindSpore
_HEAD_CRC = "mycelia.head"  # checksum of the rest of the header: dtypes, shapes, offsets, metadata
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
    """A tensor in a file; `begin` is its offset in bytes from the start of the file."""

    dtype: Any
    shape: Shape
    begin: int


def encode(named: Sequence[tuple[str, Any]], check: bool) -> Iterator[bytes]:
    """Encode tensors by name; strings become metadata."""
    arrays = {n: np.asarray(t, order="C") for n, t in named if not isinstance(t, str)}
    metadata = {"format": "ms"} | {n: t for n, t in named if isinstance(t, str)}
    if check:
        metadata = {_CRC: str(_checksum(arrays))} | metadata
    kinds = {name: (array.dtype.name, array.shape) for name, array in arrays.items()}
    yield head(kinds, metadata, check)
    for array in arrays.values():
        yield array.tobytes()


def head(kinds: Mapping[str, tuple[str, Shape]], metadata: Mapping[str, str], check: bool) -> bytes:
    """The header of a file: dtypes and shapes of the tensors that follow, in order.

    With `check`, it has a separate checksum.
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
    """Check that the format supports the dtype of a tensor."""
    if dtype not in _NAMES:
        raise problem(
            TypeError,
            f"save_checkpoint: the format 'safetensors' does not support the dtype of {name}",
            got=dtype,
            expected=f"one of {', '.join(_NAMES)}",
            fix="save real and imaginary parts, or use format 'ckpt' without shards",
        )
    return dtype


def decode(data: memoryview, check: bool) -> dict[str, Any]:
    """Decode arrays by name. Raises ValueError or TypeError for invalid files."""
    header, content = _split(data)
    metadata = header.pop(_METADATA)
    arrays = {name: _array(entry, content) for name, entry in header.items()}
    if check and _CRC in metadata and metadata[_CRC] != str(_checksum(arrays)):
        raise ValueError("its checksum does not match its data")
    return arrays


def places(path: Path) -> tuple[dict[str, SafetensorsEntry], dict[str, str]]:
    """The offsets of the tensors of a file, and its metadata, without the data.

    Raises as `decode`, also for truncated files.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(_MOST, size - 8):
            raise ValueError("its header is longer than the file")
        header = _header(file.read(length))
    metadata = header.pop(_METADATA)
    entries = {}
    for name, entry in header.items():
        dtype, shape, start, end = _bounds(entry, size - 8 - length)
        if end - start != prod(shape) * dtype.itemsize:
            raise ValueError(f"{end - start} bytes for {name} of shape {shape}")
        entries[name] = SafetensorsEntry(dtype, tuple(shape), 8 + length + start)
    return entries, metadata


def has_checksum(data: memoryview) -> bool:
    """Whether a file has a checksum of its data. Raises as `decode`."""
    return _CRC in _split(data)[0][_METADATA]


def _split(data: memoryview) -> tuple[dict[str, Any], memoryview]:
    """The header, and the data after it."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(_MOST, len(data) - 8):
        raise ValueError("its header is longer than the file")
    return _header(bytes(data[8 : 8 + size])), data[8 + size :]


def _header(text: bytes) -> dict[str, Any]:
    header = json_value(text)
    if not isinstance(header, dict):
        raise ValueError("its header is not a JSON object")
    metadata = header.setdefault(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError("the metadata in its header must be strings")
    if _HEAD_CRC in metadata and metadata[_HEAD_CRC] != str(_head_checksum(header)):
        raise ValueError("the checksum of its header does not match")
    return header


def _head_checksum(header: dict[str, Any]) -> int:
    """The checksum of a header, without the entry of the checksum."""
    metadata = {name: text for name, text in header[_METADATA].items() if name != _HEAD_CRC}
    entries = [[name, entry] for name, entry in header.items() if name != _METADATA]
    return crc32(json.dumps([entries, metadata], sort_keys=True).encode())


def _array(entry: Any, content: memoryview) -> np.ndarray:
    dtype, shape, start, end = _bounds(entry, len(content))
    return np.frombuffer(content[start:end], dtype).reshape(shape)


def _bounds(entry: Any, length: int) -> tuple[Any, list[int], int, int]:
    """The dtype, shape, start, and end of a header entry, for data of `length` bytes."""
    try:
        dtype, shape = by_name(_DTYPES[entry["dtype"]]).numpy, entry["shape"]
        start, end = entry["data_offsets"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"invalid entry in its header: {entry!r:.200}") from error
    if not isinstance(shape, list) or any(
        type(n) is not int or n < 0 for n in (*shape, start, end)
    ):
        raise ValueError(f"an entry of its header has invalid sizes: {entry!r:.200}")
    if not 0 <= start <= end <= length:
        raise ValueError(f"data from {start} to {end} of {length} bytes")
    return np.dtype(dtype), shape, start, end


def _checksum(arrays: dict[str, np.ndarray]) -> int:
    checksum = 0
    for name in sorted(arrays):
        checksum = crc32(arrays[name].tobytes(), crc32(name.encode(), checksum))
    return checksum
