"""Changes to the bytes of a file: cut, flip, insert, repeat, swap, numbers and tokens replaced."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

Edit = tuple[Any, ...]
"""The name of a change, and its numbers and texts; positions wrap around at the end of the file."""

_MOST = 2**20  # of positions; larger files are not among the formats
_EDGE = 80  # bytes at both ends of a file, where the formats keep most of their fields
_LONG = {"@digits": "9" * 5000, "@lists": "[" * 100_000, "@objects": '{"a":' * 100_000}
_TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|-?\d+(?:\.\d+)?|[A-Za-z_][\w./-]*')
_TEXTS = (
    *("", "0", "-1", "1", "2", "null", "true", "[]", "{}", '""', '"x"', '"1"', "[1]", "1.5", "NaN"),
    *("1e999", "-Infinity", "2147483648", "9223372036854775807", "-9223372036854775808"),
    *("18446744073709551616", "9" * 30, "@digits", '"../outside"', '"/outside"', "../outside"),
    *('"\\ud800"', '"\x00"', "\udcff", "%s", "é", "\t", "\n", ",", '"', "@lists"),
    *("@objects", "[" * 50, '"float32"', '"int64"', '"string"', '"bytes"'),
)
_NUMBERS = (
    *(0, 1, 2, 7, 127, 128, 255, 256, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1),
    *(2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 8),
)


def draw(rng: random.Random) -> Edit:
    """A random change."""
    kind = rng.choice(("token",) * 5 + ("number",) * 3 + ("flip",) * 3 + tuple(_APPLY))
    if kind == "token":
        return kind, _position(rng), rng.choice(_TEXTS)
    if kind == "number":
        sizes = rng.choice((1, 2, 4, 8)), rng.choice(("little", "big"))
        return kind, _position(rng), rng.choice(_NUMBERS), *sizes
    if kind == "flip":
        return kind, _position(rng), rng.choice((1, 2, 4, 8, 16, 32, 64, 128, 255))
    if kind == "insert":
        return kind, _position(rng), rng.choice(_TEXTS)
    if kind in ("delete", "repeat"):
        return kind, _position(rng), rng.choice((1, 2, 3, 4, 8, 16, 100))
    if kind in ("swap", "swap tokens"):
        return kind, _position(rng), _position(rng), rng.choice((1, 4, 8, 16))
    return kind, _position(rng)


def apply(edit: Edit, data: bytes) -> bytes:
    """The bytes after a change."""
    kind, *given = edit
    return _APPLY[kind](data, *given)


def simpler(edit: Edit) -> Iterator[Edit]:
    """The same change with less: shorter texts, smaller numbers, a position nearer to the start."""
    kind, position, *given = edit
    if given and isinstance(given[0], str) and len(given[0]) > 20:
        yield kind, position, given[0][: len(given[0]) // 2], *given[1:]
    for nearer in sorted({0, position // 2, position - 1}):
        if 0 <= nearer < position:
            yield kind, nearer, *given


def _position(rng: random.Random) -> int:
    """Near the start, near the end (negative), or anywhere."""
    return rng.choice(
        (
            rng.randrange(_EDGE),
            rng.randrange(_EDGE),
            -1 - rng.randrange(_EDGE),
            rng.randrange(_MOST),
        )
    )


def _at(data: bytes, position: int) -> int:
    return position % max(len(data), 1)


def _cut(data: bytes, position: int) -> bytes:
    return data[: _at(data, position)]


def _flip(data: bytes, position: int, bits: int) -> bytes:
    place = _at(data, position)
    return (
        data[:place] + bytes([byte ^ bits for byte in data[place : place + 1]]) + data[place + 1 :]
    )


def _insert(data: bytes, position: int, text: str) -> bytes:
    place = _at(data, position)
    return data[:place] + _encoded(text) + data[place:]


def _delete(data: bytes, position: int, size: int) -> bytes:
    place = _at(data, position)
    return data[:place] + data[place + size :]


def _repeat(data: bytes, position: int, size: int) -> bytes:
    place = _at(data, position)
    return data[: place + size] + data[place:]


def _swap(data: bytes, position: int, other: int, size: int) -> bytes:
    one, two = sorted((_at(data, position), _at(data, other)))
    size = min(size, two - one)
    first, second = data[one : one + size], data[two : two + size]
    return data[:one] + second + data[one + size : two] + first + data[two + size :]


def _number(data: bytes, position: int, number: int, size: int, order: Any) -> bytes:
    place = _at(data, position)
    written = (number % (1 << 8 * size)).to_bytes(size, order)
    return data[:place] + written[: len(data) - place] + data[place + size :]


def _token(data: bytes, position: int, text: str) -> bytes:
    """A text between quotes, a number, or a word is another text."""
    found = list(_TOKEN.finditer(data))
    if not found:
        return _insert(data, position, text)
    chosen = found[position % len(found)]
    return data[: chosen.start()] + _encoded(text) + data[chosen.end() :]


def _swap_tokens(data: bytes, position: int, other: int, _: int) -> bytes:
    found = list(_TOKEN.finditer(data))
    if len(found) < 2:
        return data
    one, two = sorted((position % len(found), other % len(found)))
    a, b = found[one], found[two]
    if one == two:
        return data
    between = data[a.end() : b.start()]
    return data[: a.start()] + b.group() + between + a.group() + data[b.end() :]


def _encoded(text: str) -> bytes:
    return _LONG.get(text, text).encode("utf-8", "surrogateescape")


_APPLY: dict[str, Callable[..., bytes]] = {
    "cut": _cut,
    "flip": _flip,
    "insert": _insert,
    "delete": _delete,
    "repeat": _repeat,
    "swap": _swap,
    "number": _number,
    "token": _token,
    "swap tokens": _swap_tokens,
    "empty": lambda data, _: b"",
    "double": lambda data, _: data + data,
    "zeros": lambda data, _: bytes(len(data)),
}
