"""Image files of random pixels and the like, the same bytes on every machine."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from hashlib import sha1
from pathlib import Path
from typing import Any

import numpy as np


def png(seed: int, height: int = 3, width: int = 4) -> bytes:
    """An RGB image of random pixels, stored without compression."""
    return _png(np.random.default_rng(seed).integers(0, 256, (height, width, 3)), 2)


def grey_png(seed: int, height: int = 3, width: int = 4) -> bytes:
    """A grey image of random pixels."""
    return _png(np.random.default_rng(seed).integers(0, 256, (height, width, 1)), 0)


def _png(pixels: np.ndarray, colour: int) -> bytes:
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + line.astype(np.uint8).tobytes() for line in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 0)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def put(path: Path, data: bytes | str) -> None:
    """Write a file, and the folders it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


def lines(entries: Iterable[Any]) -> str:
    return "".join(f"{entry}\n" for entry in entries)


def idx(array: np.ndarray) -> bytes:
    """An IDX file: bytes, or four-byte numbers."""
    kind = 0x08 if array.dtype == np.uint8 else 0x0C
    head = struct.pack(">BBBB", 0, 0, kind, array.ndim)
    return (
        head
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.astype(array.dtype.newbyteorder(">")).tobytes()
    )


def told(dataset: Any) -> dict[str, Any]:
    """The columns of a dataset and its rows: types, shapes, and values (or a digest of them)."""
    rows = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return {
        "columns": dataset.get_col_names(),
        "size": dataset.get_dataset_size(),
        "rows": [[_told(value) for value in row] for row in rows],
    }


def _told(value: np.ndarray) -> list[Any]:
    kind = "str" if value.dtype.kind == "U" else value.dtype.name
    if value.size <= 30:
        return [kind, list(value.shape), value.tolist()]
    return [kind, list(value.shape), sha1(np.ascontiguousarray(value)).hexdigest()[:16]]
