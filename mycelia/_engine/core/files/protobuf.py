"""The protobuf wire format: what checkpoints and event files are made of."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(value: int) -> bytes:
    """An unsigned (or 64-bit two's complement) number, seven bits a byte, lowest first."""
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
    """Several numbers one after the other, as one field."""
    listed = list(values)
    return bytes_field(field, struct.pack(f"<{len(listed)}d", *listed))


def bytes_field(field: int, value: bytes) -> bytes:
    return bytes_header(field, len(value)) + value


def bytes_header(field: int, length: int) -> bytes:
    """What stands before `length` bytes of a field, when they are written separately."""
    return varint(field << 3 | BYTES) + varint(length)


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message in order: number, and value. Raises ValueError on broken data."""
    place = 0
    while place < len(data):
        key, place = _read_varint(data, place)
        field, kind = key >> 3, key & 7
        if field == 0:
            raise ValueError(f"field number 0 at byte {place}")
        if kind == VARINT:
            value, place = _read_varint(data, place)
            yield field, value
            continue
        if kind == BYTES:
            length, place = _read_varint(data, place)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"unknown wire type {kind} at byte {place}")
        if place + length > len(data):
            raise ValueError(f"the data ends inside a field of {length} bytes at byte {place}")
        yield field, data[place : place + length]
        place += length


def _read_varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if place >= len(data):
            raise ValueError("the data ends inside a number")
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
        if shift > 63:
            raise ValueError(f"a number is longer than 64 bits at byte {place}")
