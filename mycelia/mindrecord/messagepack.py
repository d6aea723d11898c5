"""MessagePack encoding of the scalar fields of a row."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from mycelia._engine.core.files.text_files import decoded

_UNSIGNED = ((0xCC, ">BB"), (0xCD, ">BH"), (0xCE, ">BI"), (0xCF, ">BQ"))
_SIGNED = ((0xD0, ">Bb"), (0xD1, ">Bh"), (0xD2, ">Bi"), (0xD3, ">Bq"))
_NUMBERS = {code: struct.Struct(">" + layout[2:]) for code, layout in (*_UNSIGNED, *_SIGNED)} | {
    0xCA: struct.Struct(">f"),
    0xCB: struct.Struct(">d"),
}
_TEXT_LENGTHS = {0xD9: 1, 0xDA: 2, 0xDB: 4}
_MAP_LENGTHS = {0xDE: 2, 0xDF: 4}
_LARGEST_FLOAT32 = 3.4028234663852886e38


def pack(fields: dict[str, Any]) -> bytes:
    """Encode the fields sorted by name, each value in its shortest form."""
    parts = [_map_head(len(fields))]
    for name, value in sorted(fields.items()):
        parts += [_pack_text(name), _PACKERS[type(value)](value)]
    return b"".join(parts)


def unpack(data: bytes) -> dict[str, Any]:
    """Decode the fields of a row. Invalid bytes raise ValueError."""
    try:
        count, index = _read_map_head(data)
        fields = {}
        for _ in range(count):
            name, index = _read_value(data, index)
            if not isinstance(name, str):
                raise ValueError(f"a field name before byte {index} is not text")
            fields[name], index = _read_value(data, index)
    except (IndexError, struct.error) as end:
        raise ValueError("the data ends inside a field") from end
    if index != len(data):
        raise ValueError(f"{len(data) - index} bytes are left after the last field")
    return fields


def packed_names(names: Sequence[str]) -> list[bytes]:
    """The bytes before each value of a row that has exactly these sorted fields."""
    keys = [_pack_text(name) for name in names]
    return [_map_head(len(keys)) + keys[0], *keys[1:]] if keys else []


def unpack_known(data: bytes, names: Sequence[str], keys: Sequence[bytes]) -> list[Any]:
    """The values of a row with these fields, like `unpack` but faster.

    `keys` are the `packed_names`. A missing field has the value None.
    """
    values, index = [], 0
    try:
        for key in keys:
            if not data.startswith(key, index):
                break
            value, index = _read_value(data, index + len(key))
            values.append(value)
    except (IndexError, struct.error) as end:
        raise ValueError("the data ends inside a field") from end
    if len(values) == len(keys) and index == len(data):
        return values
    found = unpack(data)
    return [found.get(name) for name in names]


def _map_head(count: int) -> bytes:
    if count < 16:
        return bytes([0x80 | count])
    return struct.pack(">BH", 0xDE, count) if count < 1 << 16 else struct.pack(">BI", 0xDF, count)


def _pack_integer(value: int) -> bytes:
    if -32 <= value < 128:
        return bytes([value & 0xFF])
    for power, (code, layout) in enumerate(_UNSIGNED if value > 0 else _SIGNED):
        bits = 8 << power
        if -(1 << bits - 1) <= value < 1 << bits:
            return struct.pack(layout, code, value)
    raise ValueError(f"{value} has more than 64 bits")


def _pack_float(value: float) -> bytes:
    if abs(value) <= _LARGEST_FLOAT32:
        short = struct.pack(">f", value)
        if struct.unpack(">f", short)[0] == value:
            return b"\xca" + short
    return struct.pack(">Bd", 0xCB, value)


def _pack_text(value: str) -> bytes:
    data = value.encode()
    if len(data) < 32:
        return bytes([0xA0 | len(data)]) + data
    for code, size in _TEXT_LENGTHS.items():
        if len(data) < 1 << 8 * size:
            return bytes([code]) + len(data).to_bytes(size, "big") + data
    raise ValueError("a text has 4 GiB or more")


_PACKERS: dict[type, Callable[[Any], bytes]] = {
    int: _pack_integer,
    float: _pack_float,
    str: _pack_text,
}


def _read_map_head(data: bytes) -> tuple[int, int]:
    code = data[0]
    if 0x80 <= code <= 0x8F:
        return code & 0x0F, 1
    if code in _MAP_LENGTHS:
        end = 1 + _MAP_LENGTHS[code]
        return int.from_bytes(data[1:end], "big"), end
    raise ValueError(f"byte {code:#04x} does not start a map")


def _read_value(data: bytes, index: int) -> tuple[Any, int]:
    code = data[index]
    index += 1
    if code < 0x80:
        return code, index
    if code >= 0xE0:
        return code - 0x100, index
    if 0xA0 <= code <= 0xBF:
        return _read_text(data, index, code & 0x1F)
    if code in _NUMBERS:
        form = _NUMBERS[code]
        return form.unpack_from(data, index)[0], index + form.size
    if code in _TEXT_LENGTHS:
        start = index + _TEXT_LENGTHS[code]
        return _read_text(data, start, int.from_bytes(data[index:start], "big"))
    raise ValueError(f"byte {code:#04x} at {index - 1} does not start a number or text")


def _read_text(data: bytes, start: int, length: int) -> tuple[str, int]:
    end = start + length
    if end > len(data):
        raise ValueError("the data ends inside a text")
    return decoded(data[start:end]), end
