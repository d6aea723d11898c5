"""The bytes of the fields kept as blobs: integers in as few bytes as they need, fields joined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_WIDTHS = np.array([1, 2, 4, 8])
_COUNT_SIZE = 4
_LENGTH_SIZE = 8
_SHIFTS = np.array([6, 4, 2, 0])


def compress_integers(values: np.ndarray) -> bytes:
    """How many there are, two bits of width for each, then each in its own width."""
    flat = np.ascontiguousarray(values).reshape(-1).astype("<i8")
    codes = _width_codes(flat)
    padded = np.zeros(-(-len(flat) // 4) * 4, np.uint8)
    padded[: len(flat)] = codes
    packed = (padded.reshape(-1, 4) << _SHIFTS).sum(axis=1).astype(np.uint8)
    body = flat.view(np.uint8).reshape(-1, 8)[_bytes_of(_WIDTHS[codes])]
    return len(flat).to_bytes(_COUNT_SIZE, "big") + packed.tobytes() + body.tobytes()


def expand_integers(data: bytes, dtype: str) -> np.ndarray:
    """The integers that were compressed. Other bytes raise ValueError."""
    if len(data) < _COUNT_SIZE:
        raise ValueError(f"{len(data)} bytes cannot hold a count of integers")
    count = int.from_bytes(data[:_COUNT_SIZE], "big")
    start = _COUNT_SIZE + -(-count // 4)
    if start + count > len(data):
        raise ValueError(f"{len(data)} bytes cannot hold {count} integers")
    if len(data) == start + count and data.count(0, _COUNT_SIZE, start) == start - _COUNT_SIZE:
        return np.frombuffer(data, np.int8, offset=start).astype(dtype)  # one byte each
    packed = np.frombuffer(data, np.uint8, start - _COUNT_SIZE, _COUNT_SIZE)
    codes = (packed[:, None] >> _SHIFTS & 3).reshape(-1)[:count]
    widths = _WIDTHS[codes]
    if count and widths.max() > np.dtype(dtype).itemsize:
        raise ValueError(f"an integer has {widths.max()} bytes, too many for {dtype}")
    if start + widths.sum() != len(data):
        raise ValueError(
            f"{len(data)} bytes instead of {start + widths.sum()} for {count} integers"
        )
    little = np.zeros((count, 8), np.uint8)
    little[_bytes_of(widths)] = np.frombuffer(data, np.uint8, offset=start)
    empty = 64 - 8 * widths  # shifting there and back brings the sign into the upper bits
    return (little.view("<i8").reshape(-1) << empty >> empty).astype(dtype)


def _bytes_of(widths: np.ndarray) -> np.ndarray:
    """Which of the eight bytes of each integer are stored."""
    return np.arange(8) < widths[:, None]


def _width_codes(values: np.ndarray) -> np.ndarray:
    codes = np.zeros(len(values), np.uint8)
    for width in _WIDTHS[:-1]:
        limit = 1 << int(width) * 8 - 1
        codes += (values < -limit) | (values >= limit)
    return codes


def join_blobs(parts: Sequence[bytes]) -> bytes:
    """The blobs of a row: one alone as it is, several each after its length."""
    if len(parts) == 1:
        return parts[0]
    return b"".join(len(part).to_bytes(_LENGTH_SIZE, "big") + part for part in parts)


def split_blobs(data: bytes, count: int, wanted: Sequence[int]) -> list[bytes]:
    """Those of the `count` joined blobs that are `wanted`. Other bytes raise ValueError."""
    if count == 1:
        return [data]
    bounds: list[tuple[int, int]] = []
    place = 0
    for _ in range(count):
        start = place + _LENGTH_SIZE
        place = start + int.from_bytes(data[place:start], "big")
        if start > len(data) or place > len(data):
            raise ValueError(f"the {len(bounds) + 1}. blob goes beyond the {len(data)} bytes there")
        bounds.append((start, place))
    if place != len(data):
        raise ValueError(f"{len(data) - place} bytes are left after the last blob")
    return [data[slice(*bounds[i])] for i in wanted]
