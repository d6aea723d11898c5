"""A PNG encoder that only needs zlib."""

from __future__ import annotations

import struct
import zlib

import numpy as np

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR = 2  # the color type RGB
_BITS = 8


def encode_png(pixels: np.ndarray) -> bytes:
    """Encode an RGB image of shape (height, width, 3) and dtype uint8."""
    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, _BITS, _COLOUR, 0, 0, 0)
    rows = np.zeros((height, 1 + width * 3), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, width * 3)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
