"""Records of trials, and the file that stores them: one line per trial, written durably."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import json_value, made_of

FILE = "trials.jsonl"
FINISHED, STOPPED, FAILED = "finished", "stopped", "failed"
_VERSION = 1


@dataclass(frozen=True)
class Record:
    """One trial: its settings, its value (None if it failed), and its reports by epoch."""

    number: int
    state: str
    settings: dict[str, Any]
    value: float | None
    reports: tuple[tuple[int, float], ...]
    seconds: float
    error: str = ""


class TrialFile:
    """The file of a search: the first line describes the search, the others are trials."""

    def __init__(self, path: Path, heading: dict[str, Any]) -> None:
        self.path = path
        self._heading = heading

    def open(self) -> list[Record]:
        """The trials of earlier runs of the same search; creates the file if needed."""
        if not self.path.exists():
            write_whole(self.path, self._heading, ())
            return []
        heading, records = read(self.path)
        differing = [key for key in self._heading if heading.get(key) != self._heading[key]]
        if differing:
            raise problem(
                ValueError,
                f"search: {self.path.parent} contains the trials of another search",
                got="; ".join(f"{key}: {self._heading[key]}" for key in differing),
                expected="; ".join(f"{key}: {heading.get(key)}" for key in differing),
                fix="pass another directory, or the same settings as before",
            )
        _drop_torn_line(self.path)
        return records

    def add(self, record: Record) -> None:
        """Append a trial; on return, it is on disk."""
        with self.path.open("ab") as file:
            file.write(_line(_plain(record)))
            file.flush()
            os.fsync(file.fileno())


def read(path: Path) -> tuple[dict[str, Any], list[Record]]:
    """The heading and the trials of a file; an incomplete last line is ignored."""
    lines = path.read_bytes().split(b"\n")[:-1]
    try:
        if not lines:
            raise ValueError("it has no complete line")
        heading, *rest = map(json_value, lines)
        if not isinstance(heading, dict):
            raise ValueError("its first line is not an object")
        records = [_restored(each) for each in rest]
    except ValueError as error:
        raise problem(
            ValueError, f"{path} is not a file of trials, or is damaged", got=str(error)
        ) from None
    return heading, records


def write_whole(path: Path, heading: dict[str, Any], records: Sequence[Record]) -> None:
    """Write a file of trials atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("wb") as file:
        file.write(_line(heading))
        file.writelines(_line(_plain(record)) for record in records)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def heading_of(space: Any, algorithm: str, direction: str, seed: int) -> dict[str, Any]:
    """The description of a search, the first line of its file."""
    return {
        "mycelia_trials": _VERSION,
        "space": {name: kind.describe() for name, kind in space.items()},
        "algorithm": algorithm,
        "direction": direction,
        "seed": seed,
    }


def in_terms_of(record: Record, space: Any) -> Record:
    """A record from a file, with settings converted to values of the space."""
    given = {name: kind.restored(record.settings[name]) for name, kind in space.items()}
    return replace(record, settings=given)


def as_written(record: Record, space: Any) -> Record:
    """A record for a file, with settings converted to plain values."""
    given = {name: kind.plain(record.settings[name]) for name, kind in space.items()}
    return replace(record, settings=given)


def _drop_torn_line(path: Path) -> None:
    whole = path.read_bytes()
    kept = whole.rfind(b"\n") + 1
    if kept < len(whole):
        os.truncate(path, kept)


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False).encode() + b"\n"


def _plain(record: Record) -> dict[str, Any]:
    content = asdict(record)
    content["value"] = None if record.value is None else _number(record.value)
    content["reports"] = [[epoch, _number(value)] for epoch, value in record.reports]
    return content


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)  # JSON supports finite numbers only


def _restored(content: Any) -> Record:
    """A trial from a line. Raises ValueError for other content."""
    if not isinstance(content, dict):
        raise ValueError("a line is not an object")
    reports = content.get("reports")
    if not isinstance(reports, list) or not all(
        isinstance(r, list) and len(r) == 2 for r in reports
    ):
        raise ValueError(f"the reports are {reports!r:.80}")
    value, numbers = content.get("value"), tuple((epoch, _read(v)) for epoch, v in reports)
    changed = {"value": None if value is None else _read(value), "reports": numbers}
    return made_of(Record, content | changed)


def _read(value: Any) -> float:
    if not isinstance(value, (int, float, str)):
        raise ValueError(f"{value!r:.80} is not a number")
    return float(value)
