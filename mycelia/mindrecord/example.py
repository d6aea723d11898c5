"""A parser for serialized `tf.train.Example` messages that checks every length."""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np

from mycelia._engine.core.files.text_files import decoded

Values = list[bytes] | np.ndarray  # bytes, floats (float32), or integers (int64)

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
BYTES_LIST, FLOAT_LIST, INT64_LIST = 1, 2, 3
_ELEMENTS = {BYTES_LIST: _BYTES, FLOAT_LIST: _FIXED32, INT64_LIST: _VARINT}  # if not packed
_WORD = 2**64 - 1
_FEW = 8  # bytes below which a loop is faster than NumPy
_NAME_TAG, _VALUE_TAG = 1 << 3 | _BYTES, 2 << 3 | _BYTES

Span = tuple[int, int]
Raw = tuple[int, list[bytes]]


def parse_example(data: bytes, wanted: Container[str] | None = None) -> dict[str, Values]:
    """All features by name, or only some of them. Invalid bytes raise ValueError."""
    return {name: _values(*raw) for name, raw in raw_features(data, wanted).items()}


def raw_features(data: bytes, wanted: Container[str] | None = None) -> dict[str, Raw]:
    """The undecoded features: the kind of list, and its bytes."""
    features: dict[str, Raw] = {}
    try:
        for message in _spans(data, (0, len(data)), 1):
            for entry in _spans(data, message, 1):
                name, value = _entry(data, entry)
                if wanted is None or name in wanted:
                    found = _feature(data, value)
                    if found is not None:
                        features[name] = found
    except IndexError as end:
        raise ValueError("the data ends inside a number") from end
    return features


def many_numbers(kind: int, parts: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers in the lists of several features, concatenated, and the length of each list."""
    lengths = np.array([len(part) for part in parts])
    data = bytearray().join(parts)
    if kind == FLOAT_LIST:
        if (lengths % 4).any():
            raise ValueError("a list has no whole floats")
        return np.frombuffer(data, "<f4"), lengths // 4
    ends = np.concatenate([[0], np.cumsum(np.frombuffer(data, np.uint8) < 0x80)])
    indices = np.cumsum(lengths)
    if any(part and part[-1] >= 0x80 for part in parts):
        raise ValueError("the data ends inside a number")
    return _many_varints(np.frombuffer(data, np.uint8)), ends[indices] - ends[indices - lengths]


def _entry(data: bytes, span: Span) -> tuple[str, Span]:
    """The name of a feature, and the range of its value."""
    start, end = span
    if end - start > 2 and data[start] == _NAME_TAG and data[start + 1] < 0x80:  # usual case
        name_end = start + 2 + data[start + 1]
        if name_end + 1 < end and data[name_end] == _VALUE_TAG:
            length, index = _varint(data, name_end + 1)
            if index + length == end:
                return decoded(data[start + 2 : name_end]), (index, end)
    names, values = _spans(data, span, 1), _spans(data, span, 2)
    name = decoded(data[slice(*names[-1])]) if names else ""
    return name, values[-1] if values else (end, end)


def _feature(data: bytes, span: Span) -> Raw | None:
    """The list of a feature; None if it has no kind."""
    start, end = span
    if start == end:
        return None
    kind = data[start] >> 3
    found = _whole(data, span) or _spans(data, span, kind)
    if kind not in _ELEMENTS or not found:
        return None
    inner = found[-1]
    parts = _whole(data, inner) if kind != BYTES_LIST else None
    return kind, [data[s:e] for s, e in parts or _spans(data, inner, 1, _ELEMENTS[kind])]


def _whole(data: bytes, span: Span) -> list[Span] | None:
    """The only field of a message, if it is a message or a list."""
    start, end = span
    if end - start < 2 or data[start] & 7 != _BYTES or data[start] > 0x7F:
        return None
    length, index = _varint(data, start + 1)
    return [(index, end)] if index + length == end else None


def _values(kind: int, parts: list[bytes]) -> Values:
    if kind == BYTES_LIST:
        return parts
    packed = parts[0] if len(parts) == 1 else b"".join(parts)
    if kind == FLOAT_LIST or len(packed) >= _FEW:
        return many_numbers(kind, [packed])[0]
    numbers, index = [], 0
    try:
        while index < len(packed):
            number, index = _varint(packed, index)
            numbers.append(number)
    except IndexError as end:
        raise ValueError("the data ends inside a number") from end
    return np.array(numbers, np.uint64).view(np.int64)


def _many_varints(data: np.ndarray) -> np.ndarray:
    """Decode varints: seven bits per byte, the high bit set in all but the last byte."""
    is_last = data < 0x80
    if is_last.all():
        return data.astype(np.int64)
    if not is_last[-1]:
        raise ValueError("the data ends inside a number")
    lasts = np.flatnonzero(is_last)
    starts = np.concatenate([[0], lasts[:-1] + 1])
    lengths = lasts - starts + 1
    if lengths.max() > 10:
        raise ValueError("a number is longer than 64 bits")
    shifts = 7 * (np.arange(len(data)) - np.repeat(starts, lengths))
    bits = (data & 0x7F).astype(np.uint64) << shifts.astype(np.uint64)
    return np.add.reduceat(bits, starts).view(np.int64)


def _spans(data: bytes, span: Span, number: int, also: int = _BYTES) -> list[Span]:
    """The ranges of the fields with this number: texts, messages, lists, or `also`."""
    index, end = span
    found = []
    while index < end:
        key, index = _varint(data, index)
        kind = key & 7
        start = index
        if kind == _BYTES:
            length, start = _varint(data, index)
            index = start + length
        elif kind == _VARINT:
            _, index = _varint(data, index)
        elif kind in _FIXED:
            index += _FIXED[kind]
        else:
            raise ValueError(f"unknown wire type {kind} at byte {index}")
        if index > end:
            raise ValueError(f"the data ends inside a field at byte {start}")
        if key >> 3 == number:
            if kind not in (_BYTES, also):
                raise ValueError(f"a field of another kind is at byte {start}")
            found.append((start, index))
    return found


def _varint(data: bytes, index: int) -> tuple[int, int]:
    byte = data[index]
    if byte < 0x80:
        return byte, index + 1
    value = shift = 0
    while shift < 70:
        byte = data[index]
        index += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _WORD, index
        shift += 7
    raise ValueError(f"a number is longer than 64 bits at byte {index}")
