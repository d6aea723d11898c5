"""The protobuf wire format, which checkpoints and event files use."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(value: int) -> bytes:
    """An unsigned (or 64-bit two's complement) integer, seven bits per byte, lowest first."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number_field(field: int, value: int) -> bytes:
    return varint(field << 3 | VARINT) + varint(value)


def double_field(field: int, value: float) -> bytes:
    return varint(field << 3 | FIXED64) + struct.pack("<d", value)


def float_field(field: int, value: float) -> bytes:
    return varint(field << 3 | FIXED32) + struct.pack("<f", value)


def text_field(field: int, value: str) -> bytes:
    return bytes_field(field, value.encode())


def doubles_field(field: int, values: Iterable[float]) -> bytes:
    """A packed field of doubles."""
    listed = list(values)
    return bytes_field(field, struct.pack(f"<{len(listed)}d", *listed))


def bytes_field(field: int, value: bytes) -> bytes:
    return bytes_header(field, len(value)) + value


def bytes_header(field: int, length: int) -> bytes:
    """The header of a field of `length` bytes, for fields that are written separately."""
    return varint(field << 3 | BYTES) + varint(length)


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message in order: number and value. Raises ValueError for damaged data."""
    position = 0
    while position < len(data):
        key, position = _read_varint(data, position)
        field, kind = key >> 3, key & 7
        if field == 0:
            raise ValueError(f"field number 0 at byte {position}")
        if kind == VARINT:
            value, position = _read_varint(data, position)
            yield field, value
            continue
        if kind == BYTES:
            length, position = _read_varint(data, position)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"unknown wire type {kind} at byte {position}")
        if position + length > len(data):
            raise ValueError(f"the data ends inside a field of {length} bytes at byte {position}")
        yield field, data[position : position + length]
        position += length


def _read_varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data):
            raise ValueError("the data ends inside a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError(f"a number is longer than 64 bits at byte {position}")
