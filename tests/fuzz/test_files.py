"""Changes of files, the judge of what reading them comes to, and faults that it finds."""

from __future__ import annotations

import os
import pickle
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mycelia._engine.core.errors import problem
from tests.fuzz.file import edits
from tests.fuzz.file.format import Format, plain
from tests.fuzz.file.judge import verdict
from tests.fuzz.file.registry import FORMATS, GROUPS
from tests.fuzz.file.worker import Worker
from tests.fuzz.kinds import files

FLIP = ("flip", 0, 1)


def _numbers(read: Callable[[Path], Any], **facts: Any) -> Format:
    """A format of two bytes; the name keeps formats of different tests apart."""

    def write(folder: Path) -> None:
        (folder / "numbers").write_bytes(b"12")

    return Format(f"numbers {id(read)}", "test", write, read, **facts)


def _found(read: Callable[[Path], Any], **facts: Any) -> str:
    """What is wrong about reading a changed file in such a way."""
    return verdict(_numbers(read, **facts), 0, [FLIP], reseal=False)


def _content(folder: Path) -> bytes:
    return (folder / "numbers").read_bytes()


def test_a_clear_error_is_right():
    def read(folder: Path) -> bytes:
        if _content(folder) != b"12":
            raise problem(ValueError, "numbers: the file is damaged", got=str(folder))
        return b"12"

    assert _found(read, sealed=True) == ""


def test_another_content_is_found_where_there_is_a_checksum():
    assert _found(_content) == ""
    assert _found(_content, sealed=True).startswith("another content is read silently")


def test_internal_errors_are_found():
    def read(folder: Path) -> int:
        return {b"12": 3}[_content(folder)]

    assert _found(read).startswith("KeyError escapes from")

    def wrapped(folder: Path) -> int:
        try:
            return read(folder)
        except KeyError as error:
            raise problem(ValueError, f"no numbers: {error!r} KeyError") from error

    assert _found(wrapped).startswith("KeyError in the message of an error from")


def test_errors_without_an_explanation_are_found():
    assert _found(lambda f: int(_content(f)[:1] + b"x") if _content(f) != b"12" else 12).startswith(
        "ValueError without an explanation"
    )


def test_files_that_were_not_changed_must_be_read():
    def read(folder: Path) -> bytes:
        raise problem(ValueError, "numbers: no")

    assert verdict(_numbers(read), 0, [], reseal=False).startswith("files as they were written are")


def test_files_outside_of_the_folder_are_found():
    def read(folder: Path) -> bytes:
        return (folder / ".." / "outside").read_bytes() if _content(folder) != b"12" else b""

    assert _found(read) == "a name in a file leads outside of its folder"

    def write(folder: Path) -> None:
        if _content(folder) != b"12":
            (folder.parent / "new").write_bytes(b"")

    assert _found(write) == "reading a file writes outside of its folder"


def test_pickles_are_found():
    def read(folder: Path) -> Any:
        return pickle.loads(pickle.dumps(os.getpid)) if _content(folder) != b"12" else 0

    assert _found(read) == "reading a file leads to pickle.find_class"


def test_much_memory_is_found():
    def read(folder: Path) -> int:
        return int(np.ones(900 * 2**20, np.uint8)[0]) if _content(folder) != b"12" else 1

    assert _found(read) == "reading takes more than 512 MB"


def test_checksums_are_made_right_again():
    name = "checkpoint with a checksum"
    change = [("flip", 40, 1)]
    assert verdict(FORMATS[name], 0, change, reseal=False) == ""
    assert verdict(FORMATS[name], 0, change, reseal=True) == ""


@pytest.mark.parametrize(
    ("code", "told"), [("os._exit(3)", "ends with code 3"), ("input()", "1 s")]
)
def test_a_process_that_crashes_or_hangs_is_found(code: str, told: str):
    worker = Worker([sys.executable, "-c", f"import os; print(flush=True); input(); {code}"])
    assert told in worker.verdict({}, seconds=1)
    worker.stop()


def test_changes_of_bytes():
    assert edits.apply(("cut", 2), b"abcd") == b"ab"
    assert edits.apply(("flip", 5, 1), b"abcd") == b"accd"
    assert edits.apply(("insert", 1, "xy"), b"abcd") == b"axybcd"
    assert edits.apply(("delete", 1, 2), b"abcd") == b"ad"
    assert edits.apply(("repeat", 1, 2), b"abcd") == b"abcbcd"
    assert edits.apply(("swap", 3, 0, 1), b"abcd") == b"dbca"
    assert edits.apply(("number", 1, 2**32 - 1, 2, "little"), b"abcd") == b"a\xff\xffd"
    assert edits.apply(("token", 1, "[]"), b'{"a": 12}') == b'{"a": []}'
    assert edits.apply(("swap tokens", 0, 1, 4), b'{"a": 12}') == b'{12: "a"}'


@pytest.mark.parametrize("data", [b"", b"x", b'{"a": [1, "b"]}', bytes(300)])
def test_every_change_applies_to_all_bytes(data: bytes):
    rng = random.Random(4)
    for _ in range(300):
        assert isinstance(edits.apply(edits.draw(rng), data), bytes)


def test_contents_are_compared_bit_for_bit():
    assert plain(np.float32([0.0])) != plain(np.float32([-0.0]))
    assert plain({"a": np.float32(1)}) == plain({"a": np.ones((), np.float32)})


def test_every_group_has_formats():
    assert {one.group for one in FORMATS.values()} == set(GROUPS)


def test_smaller_cases_are_simpler():
    case = files.generate(random.Random(3))
    for smaller in files.smaller(case):
        assert smaller != case
