"""The encoding of blob fields: compressed integers and concatenated fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_WIDTHS = np.array([1, 2, 4, 8])
_COUNT_SIZE = 4
_LENGTH_SIZE = 8
_OFFSETS = np.arange(8)
_SHIFTS = np.array([6, 4, 2, 0], np.uint8)


def compress_integers(values: np.ndarray) -> bytes:
    """Encode the count, a two-bit width code per integer, then each integer in its width."""
    flat = np.ascontiguousarray(values).reshape(-1).astype("<i8")
    codes = _width_codes(flat)
    padded = np.zeros(-(-len(flat) // 4) * 4, np.uint8)
    padded[: len(flat)] = codes
    packed = (padded.reshape(-1, 4) << _SHIFTS).sum(axis=1).astype(np.uint8)
    body = flat.view(np.uint8).reshape(-1, 8)[_bytes_of(_WIDTHS[codes])]
    return len(flat).to_bytes(_COUNT_SIZE, "big") + packed.tobytes() + body.tobytes()


def expand_integers(data: bytes, dtype: str) -> np.ndarray:
    """Decode compressed integers. Invalid bytes raise ValueError."""
    whole = np.array([0]), np.array([len(data)])
    return expand_many(np.frombuffer(data, np.uint8), *whole, dtype)[0]


def expand_many(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, dtype: str
) -> tuple[np.ndarray, np.ndarray]:
    """Decode several consecutive byte ranges; also returns how many integers each holds."""
    if (ends - starts < _COUNT_SIZE).any():
        raise ValueError(f"{(ends - starts).min()} bytes cannot hold a count of integers")
    counts = read_numbers(data, starts, ">u4").astype(np.int64)
    bodies = starts + _COUNT_SIZE + (counts + 3) // 4
    if (bodies + counts > ends).any():
        short = int(np.argmax(bodies + counts > ends))
        raise ValueError(f"{(ends - starts)[short]} bytes cannot hold {counts[short]} integers")
    codes = _read_codes(data, starts + _COUNT_SIZE, bodies, counts)
    sums = np.concatenate([[0], np.cumsum(_WIDTHS[codes])])
    lasts = np.cumsum(counts)
    begins = sums[lasts - counts]
    lengths = sums[lasts] - begins
    if (bodies + lengths != ends).any():
        other = int(np.argmax(bodies + lengths != ends))
        raise ValueError(
            f"{(ends - starts)[other]} bytes instead of {(bodies + lengths - starts)[other]} "
            f"for {counts[other]} integers"
        )
    indices = sums[:-1] + np.repeat(bodies - begins, counts)
    return _read_widths(data, indices, codes, np.dtype(dtype)), counts


def read_numbers(data: np.ndarray, starts: np.ndarray, dtype: str) -> np.ndarray:
    """The values of one type at some byte offsets."""
    return data[starts[:, None] + _OFFSETS[: int(dtype[-1])]].view(dtype)[:, 0]


def _read_codes(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """The width codes of all integers, four per byte between `starts` and `ends`."""
    packed = ends - starts
    lasts = np.cumsum(packed)
    index = np.arange(lasts[-1]) + np.repeat(starts - (lasts - packed), packed)
    codes = (data[index][:, None] >> _SHIFTS & 3).reshape(-1)
    if (counts % 4 == 0).all():
        return codes
    keep = np.ones(len(codes), bool)
    for back in (1, 2, 3):  # padding codes in the last byte
        keep[(4 * lasts - back)[(-counts % 4) >= back]] = False
    return codes[keep]


def _read_widths(
    data: np.ndarray, indices: np.ndarray, codes: np.ndarray, dtype: np.dtype[Any]
) -> np.ndarray:
    """The integers at some byte offsets, each in its width."""
    values = np.empty(len(indices), dtype)
    for code, width in enumerate(_WIDTHS.tolist()):
        chosen = np.flatnonzero(codes == code)
        if not len(chosen):
            continue
        if width > dtype.itemsize:
            raise ValueError(f"an integer has {width} bytes, too many for {dtype}")
        values[chosen] = read_numbers(data, indices[chosen], f"<i{width}")
    return values


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
    """Concatenate the blobs of a row: a single one as it is, several with length prefixes."""
    if len(parts) == 1:
        return parts[0]
    return b"".join(len(part).to_bytes(_LENGTH_SIZE, "big") + part for part in parts)


def split_many(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, count: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The start and end of each of the `count` concatenated blobs of several rows.

    Invalid bytes raise ValueError.
    """
    if count == 1:
        return [(starts, ends)]
    spans = []
    position = starts
    for number in range(1, count + 1):
        begin = position + _LENGTH_SIZE
        if (begin > ends).any():
            raise ValueError(f"blob {number} exceeds the data")
        length = read_numbers(data, position, ">i8")
        if ((length < 0) | (length > ends - begin)).any():
            raise ValueError(f"blob {number} exceeds the data")
        position = begin + length
        spans.append((begin, position))
    if (position != ends).any():
        raise ValueError(f"{(ends - position).max()} bytes are left after the last blob")
    return spans
