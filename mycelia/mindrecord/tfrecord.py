"""Reading TFRecord files of `tf.train.Example` without TensorFlow, checksums checked."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from mycelia.core.errors import problem
from mycelia.mindrecord.crc32c import masked_crc32c

_HEAD = struct.Struct("<QI")  # length, its checksum
_FOOT = struct.Struct("<I")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3

Values = list[bytes] | np.ndarray


class FixedLenFeature(NamedTuple):
    """A feature with a known shape; TensorFlow's class of this name is taken as well."""

    shape: list[int]
    dtype: Any
    default_value: Any = None


def read_examples(path: str | Path) -> Iterator[dict[str, Values]]:
    """The features of each example of a file."""
    for number, record in enumerate(read_records(path)):
        try:
            yield parse_example(record)
        except (ValueError, IndexError, struct.error) as broken:
            raise problem(
                ValueError, f"{path}: record {number} is no tf.train.Example: {broken}"
            ) from broken


def read_records(path: str | Path) -> Iterator[bytes]:
    """The records of a file."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        number = 0
        while file.tell() < size:
            yield _read_record(file, size, f"{path}: record {number}")
            number += 1


def _read_record(file: BinaryIO, size: int, where: str) -> bytes:
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise problem(ValueError, f"{where} is cut off")
    length, checksum = _HEAD.unpack(head)
    if masked_crc32c(head[:8]) != checksum:
        raise problem(ValueError, f"{where}: the checksum of its length is wrong")
    if file.tell() + length + _FOOT.size > size:
        raise problem(ValueError, f"{where} is cut off")
    data = file.read(length)
    if masked_crc32c(data) != _FOOT.unpack(file.read(_FOOT.size))[0]:
        raise problem(ValueError, f"{where}: the checksum of its data is wrong")
    return data


def parse_example(data: bytes) -> dict[str, Values]:
    """The features of a serialised `tf.train.Example`. Other bytes raise ValueError."""
    features: dict[str, Values] = {}
    for _, message in _fields(data, 1):
        for _, entry in _fields(message, 1):
            parts = dict(_fields(entry))
            features[bytes(parts.get(1, b"")).decode()] = _feature(bytes(parts.get(2, b"")))
    return features


def _feature(data: bytes) -> Values:
    for kind, values in _fields(data):
        if kind == _BYTES_LIST:
            return [bytes(value) for _, value in _fields(values, 1)]
        if kind == _FLOAT_LIST:
            packed = b"".join(bytes(value) for _, value in _fields(values, 1))
            return np.frombuffer(packed, "<f4")
        if kind == _INT64_LIST:
            numbers = [n for _, value in _fields(values, 1) for n in _integers(value)]
            return np.array(numbers, np.uint64).view(np.int64)
    return []


def _integers(value: bytes | int) -> list[int]:
    """One integer, or several packed into bytes."""
    if isinstance(value, int):
        return [value]
    numbers, place = [], 0
    while place < len(value):
        number, place = _varint(value, place)
        numbers.append(number)
    return numbers


def _fields(data: Any, only: int | None = None) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: number, and value."""
    if isinstance(data, int):
        raise ValueError("a number is where a message should be")
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind, length = key & 7, 0
        if kind == _VARINT:
            value, place = _varint(data, place)
            if only in (None, key >> 3):
                yield key >> 3, value
            continue
        if kind == _BYTES:
            length, place = _varint(data, place)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"unknown wire type {kind} at byte {place}")
        if place + length > len(data):
            raise ValueError(f"the data ends inside a field at byte {place}")
        if only in (None, key >> 3):
            yield key >> 3, data[place : place + length]
        place += length


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, place
        shift += 7
    raise ValueError(f"a number is longer than 64 bits at byte {place}")
