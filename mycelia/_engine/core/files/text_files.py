"""Text files and JSON that may be damaged: what is wrong is said as one kind of error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from mycelia._engine.core.errors import problem

T = TypeVar("T")
_DIGITS = 18
_LISTS: dict[Any, Any] = {tuple: tuple, list: list, Sequence: (list, tuple)}


def decoded(data: bytes | memoryview) -> str:
    """Bytes of UTF-8 as text. Raises ValueError for other bytes."""
    try:
        return bytes(data).decode()
    except UnicodeDecodeError as error:
        raise ValueError(_no_text(error)) from None


def json_value(text: str | bytes | memoryview) -> Any:
    """The value of a JSON text. Raises ValueError for anything else."""
    whole = text if isinstance(text, str) else decoded(text)
    try:
        return json.loads(whole)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"it is no JSON: {error.msg} at {place}") from None
    except RecursionError:
        raise ValueError("it is JSON with too many lists or objects inside of each other") from None
    except ValueError as error:  # a number of more digits than Python reads
        raise ValueError(f"it is JSON with a number that is too long: {error}") from None


def is_count(text: str | bytes) -> bool:
    """Whether a text is a number from 0 up that fits 64 bits, in the digits 0 to 9."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


def read_text(path: str | Path, owner: str, kind: type[Exception] = RuntimeError) -> str:
    """The text of a file; `owner` is who reads it, for the error if it is no UTF-8."""
    try:
        return decoded(Path(path).read_bytes())
    except ValueError as error:
        raise _unreadable(path, owner, kind, error) from None


def read_lines(
    path: str | Path, owner: str, kind: type[Exception] = RuntimeError, newline: str | None = None
) -> Iterator[str]:
    """The lines of a file one after another, with their ends, as `open` gives them."""
    with open(path, encoding="utf-8", newline=newline) as lines:
        try:
            yield from lines
        except UnicodeDecodeError as error:
            raise _unreadable(path, owner, kind, ValueError(_no_text(error))) from None


def read_json(path: str | Path, owner: str, kind: type[Exception] = RuntimeError) -> Any:
    """The value in a JSON file; `owner` is who reads it, for the error if it is none."""
    try:
        return json_value(Path(path).read_bytes())
    except ValueError as error:
        raise _unreadable(path, owner, kind, error) from None


def made_of(kind: type[T], entry: Any) -> T:
    """A dataclass from a JSON object with its fields. Raises ValueError if the types differ."""
    if not isinstance(entry, dict):
        raise ValueError(f"{_shown(entry)} where an object should be")
    hints = _hints(cast(Any, kind))
    known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    unknown = [name for name in entry if name not in known]
    if unknown:
        raise ValueError(f"it has an entry {_shown(unknown[0])}, known are {', '.join(known)}")
    for name, one in known.items():
        if name in entry:
            if not _is_of(entry[name], hints[name]):
                wanted = str(one.type)
                raise ValueError(f"its entry {name!r} is {_shown(entry[name])}, not {wanted}")
        elif one.default is MISSING and one.default_factory is MISSING:
            raise ValueError(f"it has no entry {name!r}")
    return kind(**entry)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type: plain ones, unions, tuples, lists, and dicts."""
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_is_of(value, one) for one in inside)
    if origin in _LISTS:
        if not isinstance(value, _LISTS[origin]):
            return False
        if origin is tuple and inside[-1] is not Ellipsis:
            return len(value) == len(inside) and all(map(_is_of, value, inside))
        return all(_is_of(item, inside[0]) for item in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(
            _is_of(key, inside[0]) and _is_of(item, inside[1]) for key, item in value.items()
        )
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is None:
        return value is None
    kind = origin or hint
    return isinstance(value, kind) if isinstance(kind, type) else True


def _no_text(error: UnicodeDecodeError) -> str:
    return f"it is no text in UTF-8: byte {error.object[error.start]:#04x} at {error.start}"


def _unreadable(path: Any, owner: str, kind: type[Exception], error: ValueError) -> Exception:
    return problem(kind, f"{owner}: the file cannot be read", got=f"{path}: {error}")


def _shown(value: Any) -> str:
    return f"{value!r:.80}"
