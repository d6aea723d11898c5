"""Text and JSON that may be damaged: one kind of error says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mycelia._engine.core.files.text_files import (
    is_count,
    json_value,
    made_of,
    read_json,
    read_lines,
    read_text,
)


@dataclass(frozen=True)
class Entry:
    name: str
    size: int
    share: float = 0.5
    axes: tuple[int, ...] = ()
    parts: Sequence[str] | None = None
    more: Any = None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "invalid JSON: Expecting value at line 1, column 1"),
        (b'{"a": 1,\n ]', "invalid JSON: .* at line 2, column 2"),
        (b"\xff", "not UTF-8: byte 0xff at 0"),
        (b"[" * 100_000, "nested too deeply"),
        (b"9" * 5000, "a number that is too long"),
    ],
)
def test_invalid_json_raises(text: bytes, message: str):
    with pytest.raises(ValueError, match=message) as told:
        json_value(text)
    assert type(told.value) is ValueError


def test_errors_name_reader_and_file(tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_bytes(b"one\n\xff")
    for read in (read_text, read_json, lambda *given: list(read_lines(*given))):
        with pytest.raises(OSError, match=r"(?s)reader: cannot read the file.*a\.json"):
            read(path, "reader", OSError)


def test_lines_keep_their_ends(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\r\ntwo\n")
    assert list(read_lines(path, "reader", newline="")) == ["one\r\n", "two\n"]


def test_records_are_made_of_entries_of_their_types():
    entry = {"name": "a", "size": 3, "share": 1, "axes": (1, 2), "parts": ["b"]}
    assert made_of(Entry, entry) == Entry("a", 3, 1, (1, 2), ["b"])
    assert made_of(Entry, {"name": "a", "size": 3}) == Entry("a", 3)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ([], "expected an object"),
        ({"name": "a"}, "missing entry 'size'"),
        ({"name": "a", "size": 3, "other": 1}, "unknown entry 'other'"),
        ({"name": 1, "size": 3}, "'name' is 1"),
        ({"name": "a", "size": True}, "'size' is True"),
        ({"name": "a", "size": 3.5}, "'size' is 3.5"),
        ({"name": "a", "size": 3, "axes": ("x",)}, "'axes' is"),
        ({"name": "a", "size": 3, "parts": [1]}, "'parts' is"),
    ],
)
def test_entries_of_other_types_are_refused(entry: Any, message: str):
    with pytest.raises(ValueError, match=message):
        made_of(Entry, entry)


def test_counts_are_plain_digits():
    assert is_count("120") and is_count(b"0")
    assert not any(map(is_count, ("", "-1", "1.0", "²", "٣", "9" * 5000)))
