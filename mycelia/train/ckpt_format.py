"""MindSpore's `.ckpt` format: a protobuf message with one entry for each tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mycelia._engine.core.dtype import by_name
from mycelia._engine.core.files import protobuf

_SLICE = 512 * 1024 * 1024  # larger tensors are split into entries of the same name
_CRC = b"crc_num"  # precedes the checksum at the end of a file, which has ten bytes
_CRC_SIZE = 10


def encode(named: Sequence[tuple[str, Any]]) -> Iterator[bytes]:
    """Encode tensors (or strings) by name."""
    for name, tensor in named:
        tag = protobuf.bytes_field(1, name.encode())
        for body in _tensor_bodies(tensor):
            inner = protobuf.bytes_header(2, len(body)) + body
            yield protobuf.bytes_header(1, len(tag) + len(inner)) + tag + inner


def _tensor_bodies(tensor: Any) -> Iterator[bytes]:
    if isinstance(tensor, str):
        content = tensor.encode("utf-32-le")
        yield (
            protobuf.number_field(1, 0)
            + protobuf.bytes_field(2, b"str")
            + protobuf.bytes_field(3, content)
        )
        return
    array = np.ascontiguousarray(np.asarray(tensor))
    head = b"".join(protobuf.number_field(1, n) for n in tensor.shape)
    head += protobuf.bytes_field(2, str(tensor.dtype).encode())
    content = array.tobytes()
    for start in range(0, max(len(content), 1), _SLICE):
        yield head + protobuf.bytes_field(3, content[start : start + _SLICE])


def decode(data: memoryview) -> dict[str, Any]:
    """Decode arrays and strings by name; invalid bytes raise ValueError, TypeError, or
    UnicodeDecodeError.
    """
    parts: dict[str, tuple[list[int], str, list[memoryview]]] = {}
    for field, value in protobuf.fields(data):
        if field == 1 and isinstance(value, memoryview):
            name, dims, kind, content = _decode_value(value)
            parts.setdefault(name, (dims, kind, []))[2].append(content)
    if len(data) and not parts:
        raise ValueError("it contains no tensor")
    return {name: _to_array(*part) for name, part in parts.items()}


def checksum_bytes(checksum: int) -> bytes:
    """The checksum to append to a file."""
    return _CRC + checksum.to_bytes(_CRC_SIZE, "big")


def split_checksum(data: memoryview) -> tuple[memoryview, int | None]:
    """The content of a file, and its checksum if it has one."""
    end = len(data) - _CRC_SIZE - len(_CRC)
    if end < 0 or bytes(data[end : end + len(_CRC)]) != _CRC:
        return data, None
    return data[:end], int.from_bytes(data[-_CRC_SIZE:], "big")


def _decode_value(data: memoryview) -> tuple[str, list[int], str, memoryview]:
    name, dims, kind, content = "", [], "", memoryview(b"")
    for field, value in protobuf.fields(data):
        if field == 1 and isinstance(value, memoryview):
            name = bytes(value).decode()
        elif field == 2 and isinstance(value, memoryview):
            for inner, part in protobuf.fields(value):
                if inner == 1:
                    dims += [part] if isinstance(part, int) else _packed(part)
                elif inner == 2 and isinstance(part, memoryview):
                    kind = bytes(part).decode()
                elif inner == 3 and isinstance(part, memoryview):
                    content = part
    return name, dims, kind, content


def _packed(data: memoryview) -> list[int]:
    """Numbers packed in one field, as newer writers encode them."""
    return [n for _, n in protobuf.fields(memoryview(b"".join(_keyed(data)))) if isinstance(n, int)]


def _keyed(data: memoryview) -> Iterator[bytes]:
    number = bytearray()
    for byte in data:
        number.append(byte)
        if byte < 0x80:
            yield b"\x08" + bytes(number)
            number.clear()


def _to_array(dims: list[int], kind: str, pieces: list[memoryview]) -> Any:
    content = b"".join(pieces)
    if kind == "str":
        return content.decode("utf-32-le")
    array = np.frombuffer(content, by_name(kind).numpy)
    return array.reshape(dims)
