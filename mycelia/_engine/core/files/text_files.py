"""Text and JSON files, validated: damaged content raises one kind of error."""

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
    """Decode UTF-8. Raises ValueError for other bytes."""
    try:
        return bytes(data).decode()
    except UnicodeDecodeError as error:
        raise ValueError(_not_utf8(error)) from None


def json_value(text: str | bytes | memoryview) -> Any:
    """Parse JSON. Raises ValueError for anything else."""
    whole = text if isinstance(text, str) else decoded(text)
    try:
        return json.loads(whole)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"invalid JSON: {error.msg} at {position}") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except ValueError as error:  # an integer with more digits than Python parses
        raise ValueError(f"the JSON has a number that is too long: {error}") from None


def is_count(text: str | bytes) -> bool:
    """Whether a text is a non-negative 64-bit integer, in the digits 0 to 9."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


def read_text(path: str | Path, owner: str, kind: type[Exception] = RuntimeError) -> str:
    """The text of a UTF-8 file; `owner` is the calling function, for error messages."""
    try:
        return decoded(Path(path).read_bytes())
    except ValueError as error:
        raise _unreadable(path, owner, kind, error) from None


def read_lines(
    path: str | Path, owner: str, kind: type[Exception] = RuntimeError, newline: str | None = None
) -> Iterator[str]:
    """Iterate over the lines of a file with their line ends, as `open` does."""
    with open(path, encoding="utf-8", newline=newline) as lines:
        try:
            yield from lines
        except UnicodeDecodeError as error:
            raise _unreadable(path, owner, kind, ValueError(_not_utf8(error))) from None


def read_json(path: str | Path, owner: str, kind: type[Exception] = RuntimeError) -> Any:
    """The value in a JSON file; `owner` is the calling function, for error messages."""
    try:
        return json_value(Path(path).read_bytes())
    except ValueError as error:
        raise _unreadable(path, owner, kind, error) from None


def made_of(kind: type[T], entry: Any) -> T:
    """Build a dataclass from a JSON object. Raises ValueError if names or types do not match."""
    if not isinstance(entry, dict):
        raise ValueError(f"expected an object, got {_shown(entry)}")
    hints = _hints(cast(Any, kind))
    known = {known_field.name: known_field for known_field in fields(kind)}  # type: ignore[arg-type]
    unknown = [name for name in entry if name not in known]
    if unknown:
        raise ValueError(f"unknown entry {_shown(unknown[0])}, expected {', '.join(known)}")
    for name, known_field in known.items():
        if name in entry:
            if not _is_of(entry[name], hints[name]):
                expected = str(known_field.type)
                raise ValueError(f"entry {name!r} is {_shown(entry[name])}, expected {expected}")
        elif known_field.default is MISSING and known_field.default_factory is MISSING:
            raise ValueError(f"missing entry {name!r}")
    return kind(**entry)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value matches an annotation: plain types, unions, tuples, lists, and dicts."""
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_is_of(value, option) for option in inside)
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


def _not_utf8(error: UnicodeDecodeError) -> str:
    return f"the text is not UTF-8: byte {error.object[error.start]:#04x} at {error.start}"


def _unreadable(path: Any, owner: str, kind: type[Exception], error: ValueError) -> Exception:
    return problem(kind, f"{owner}: cannot read the file", got=f"{path}: {error}")


def _shown(value: Any) -> str:
    return f"{value!r:.80}"
