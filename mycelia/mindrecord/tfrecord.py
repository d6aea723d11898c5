"""Reading TFRecord files of `tf.train.Example` without TensorFlow, with checksums."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.crc32c import masked_crc32c, masked_crc32c_of_rows
from mycelia.mindrecord.contents import Buffer
from mycelia.mindrecord.example import Values, parse_example

_HEAD = struct.Struct("<QI")  # length and its checksum
_LENGTH = struct.Struct("<Q")
_FOOT = struct.Struct("<I")


class FixedLenFeature(NamedTuple):
    """A feature with a fixed shape; TensorFlow's class of this name is accepted as well."""

    shape: list[int]
    dtype: Any
    default_value: Any = None


def read_examples(path: str | Path) -> Iterator[dict[str, Values]]:
    """The features of each example of a file."""
    for number, record in enumerate(read_records(path)):
        try:
            yield parse_example(record)
        except ValueError as broken:
            raise problem(
                ValueError, f"{path}: record {number} is not a valid tf.train.Example: {broken}"
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
        raise problem(ValueError, f"{where} is truncated")
    length, checksum = _HEAD.unpack(head)
    if masked_crc32c(head[:8]) != checksum:
        raise problem(ValueError, f"{where}: the checksum of its length does not match")
    if file.tell() + length + _FOOT.size > size:
        raise problem(ValueError, f"{where} is truncated")
    data = file.read(length)
    if masked_crc32c(data) != _FOOT.unpack(file.read(_FOOT.size))[0]:
        raise problem(ValueError, f"{where}: the checksum of its data does not match")
    return data


def record_spans(path: str, data: Buffer) -> np.ndarray:
    """The start and end of each record in the bytes of a file; verifies the lengths' checksums.

    The checksums of the records themselves are skipped, because they would dominate the cost.
    """
    lengths, index, size = [], 0, len(data)
    while index + _HEAD.size <= size:
        (length,) = _LENGTH.unpack_from(data, index)
        lengths.append(length)
        index += _HEAD.size + length + _FOOT.size
    if index != size:
        raise problem(ValueError, f"{path}: record {max(len(lengths) - 1, 0)} is truncated")
    ends = np.cumsum(np.array(lengths, np.int64) + _HEAD.size + _FOOT.size) - _FOOT.size
    starts = ends - np.array(lengths, np.int64)
    heads = np.frombuffer(data, np.uint8)[(starts - _HEAD.size)[:, None] + np.arange(_HEAD.size)]
    wrong = masked_crc32c_of_rows(heads[:, :8]) != heads[:, 8:].copy().view("<u4")[:, 0]
    if wrong.any():
        record = int(np.argmax(wrong))
        raise problem(
            ValueError, f"{path}: record {record}: the checksum of its length does not match"
        )
    return np.stack([starts, ends], axis=1)
