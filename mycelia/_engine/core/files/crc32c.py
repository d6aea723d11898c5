"""CRC-32C (Castagnoli) checksums, vectorized, and the masked form that TFRecord stores."""

from __future__ import annotations

import numpy as np

_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8
_STEP = 64  # bytes that each lane processes one after another
_SHORT = 512


def _table() -> np.ndarray:
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = np.where(values & 1, values >> 1 ^ np.uint32(_POLYNOMIAL), values >> 1)
    return values.astype(np.uint32)


_TABLE = _table()
_TABLE_LIST: list[int] = _TABLE.tolist()


def crc32c(data: bytes) -> int:
    """The CRC-32C checksum of `data`."""
    if len(data) < _SHORT:
        return _bytewise(data) ^ 0xFFFFFFFF
    lanes = 1 << (-(-len(data) // _STEP) - 1).bit_length()
    padded = np.zeros(lanes * _STEP, np.uint8)  # leading zeros do not change a checksum of 0
    padded[-len(data) :] = np.frombuffer(data, np.uint8)
    padded[len(padded) - len(data) :][:4] ^= 0xFF  # the start value, folded into the first bytes
    state = np.zeros(lanes, np.uint32)
    for column in padded.reshape(lanes, _STEP).T:
        state = _TABLE[(state ^ column) & 0xFF] ^ state >> 8
    shift = _shift_by_step()
    while len(state) > 1:
        state = _apply(shift, state[0::2]) ^ state[1::2]
        shift = _apply(shift, shift)
    return int(state[0]) ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The checksum as TFRecord files store it."""
    crc = crc32c(data)
    return (crc >> 15 | crc << 17) + _MASK & 0xFFFFFFFF


def masked_crc32c_of_rows(table: np.ndarray) -> np.ndarray:
    """The masked checksum of each row of bytes."""
    state = np.full(len(table), 0xFFFFFFFF, np.uint32)
    for column in table.T:
        state = _TABLE[(state ^ column) & 0xFF] ^ state >> 8
    crc = state ^ np.uint32(0xFFFFFFFF)
    return (crc >> 15 | crc << 17) + np.uint32(_MASK)


def _bytewise(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE_LIST[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc


def _shift_by_step() -> np.ndarray:
    """The effect of `_STEP` zero bytes on each single bit of a checksum."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for _ in range(_STEP):
        bits = _TABLE[bits & 0xFF] ^ bits >> 8
    return bits


def _apply(shift: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The linear map that maps bit i to `shift[i]`."""
    result = np.zeros_like(values)
    for bit in range(32):
        result ^= (values >> np.uint32(bit) & 1) * shift[bit]
    return result
