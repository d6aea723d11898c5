"""The safetensors layout: a JSON header with places, then the numbers of all tensors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from zlib import crc32

import numpy as np

from mycelia.core.dtype import by_name

_ALIGNMENT = 8
_MOST = 100 * 1024 * 1024  # bytes of a header; what says more is no such file
_METADATA = "__metadata__"
_CRC = "crc_num"
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


def encode(named: list[tuple[str, Any]], check: bool) -> Iterator[bytes]:
    """The bytes of a file with some tensors by name; texts become metadata."""
    arrays = {n: np.asarray(t, order="C") for n, t in named if not isinstance(t, str)}
    metadata = {"format": "ms"} | {n: t for n, t in named if isinstance(t, str)}
    if check:
        metadata = {_CRC: str(_checksum(arrays))} | metadata
    header: dict[str, Any] = {_METADATA: metadata}
    end = 0
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    yield len(text).to_bytes(8, "little") + text
    for array in arrays.values():
        yield array.tobytes()


def decode(data: memoryview, check: bool) -> dict[str, Any]:
    """Arrays by name. Raises ValueError or TypeError for bytes that are no such file."""
    header, content = _split(data)
    metadata = header.pop(_METADATA, {})
    arrays = {name: _array(place, content) for name, place in header.items()}
    if check and _CRC in metadata and int(metadata[_CRC]) != _checksum(arrays):
        raise ValueError("its checksum is not that of its numbers")
    return arrays


def has_checksum(data: memoryview) -> bool:
    """Whether such a file holds a checksum of its numbers. Raises as `decode` does."""
    return _CRC in _split(data)[0].get(_METADATA, {})


def _split(data: memoryview) -> tuple[dict[str, Any], memoryview]:
    """The header, and the numbers behind it."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(_MOST, len(data) - 8):
        raise ValueError("its header is longer than the file")
    header = json.loads(bytes(data[8 : 8 + size]))
    if not isinstance(header, dict):
        raise ValueError("its header is no object")
    return header, data[8 + size :]


def _array(place: Any, content: memoryview) -> np.ndarray:
    try:
        dtype, shape = by_name(_DTYPES[place["dtype"]]).numpy, [int(n) for n in place["shape"]]
        start, end = place["data_offsets"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"an entry of its header is not understood: {place}") from error
    if not 0 <= start <= end <= len(content):
        raise ValueError(f"numbers from {start} to {end} of {len(content)} bytes")
    return np.frombuffer(content[start:end], dtype).reshape(shape)


def _checksum(arrays: dict[str, np.ndarray]) -> int:
    found = 0
    for name in sorted(arrays):
        found = crc32(arrays[name].tobytes(), crc32(name.encode(), found))
    return found
