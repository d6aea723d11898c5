"""What a search found: the best trial, all of them as a table, a picture, a file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.tune import picture
from mycelia.tune.records import FAILED, FINISHED, STOPPED, Record, as_written, read, write_whole
from mycelia.tune.space import Space

_LONGEST = 40  # characters of an error or setting in a table


@dataclass(frozen=True)
class Results:
    """The trials of a search, in the order they were made.

    `direction` says which values are better; `interrupted` whether the search ended before its
    last trial.
    """

    trials: tuple[Record, ...]
    direction: str
    heading: dict[str, Any]
    space: Space | None = None
    interrupted: bool = False

    @property
    def best(self) -> Record:
        """The best of the trials that finished; of those stopped early if none did."""
        ranked = self.ranked()
        if not ranked or ranked[0].state == FAILED:
            raise problem(
                RuntimeError,
                "the search has no trial with a value",
                got=f"{len(self.trials)} trials",
            )
        return ranked[0]

    def ranked(self) -> list[Record]:
        """The trials, the best first: finished ones, then stopped ones, then failed ones."""
        sign = sign_of(self.direction)
        states = (FINISHED, STOPPED, FAILED)

        def rank(record: Record) -> tuple[int, float, int]:
            value = math.inf if record.value is None else sign * record.value
            return states.index(record.state), value, record.number

        return sorted(self.trials, key=rank)

    def table(self) -> str:
        """The trials as text, the best first."""
        names = list(self.heading["space"])
        rows = [["trial", "value", "state", "epochs", "seconds", *names]]
        for record in self.ranked():
            value = "" if record.value is None else f"{record.value:.6g}"
            state = f"{record.state}: {record.error}" if record.error else record.state
            fixed = [str(record.number), value, _short(state), str(len(record.reports))]
            settings = [_shown(record.settings[name]) for name in names]
            rows.append([*fixed, f"{record.seconds:.1f}", *settings])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join(lines)

    def plot(self, path: str | Path) -> Path:
        """Draw the course of the search, and the values over each setting, into a file."""
        return picture.draw(self.trials, self.heading, Path(path))

    def save(self, path: str | Path) -> Path:
        """Write the trials into a file, which `tune.load` reads."""
        records = self.trials
        if self.space is not None:
            records = tuple(as_written(record, self.space) for record in records)
        write_whole(Path(path), self.heading, records)
        return Path(path)

    def __str__(self) -> str:
        return self.table()


def load(path: str | Path) -> Results:
    """Results from a file of `Results.save`, or the `trials.jsonl` of a search's directory.

    Options that are no plain values are there by their names.
    """
    heading, records = read(Path(path))
    if "mycelia_trials" not in heading:
        raise problem(ValueError, f"{path} is no file of trials", got=str(heading)[:80])
    return Results(tuple(records), heading["direction"], heading)


def sign_of(direction: str) -> float:
    """What values are multiplied with so that smaller is better."""
    return -1.0 if direction == "maximize" else 1.0


def _shown(setting: Any) -> str:
    if isinstance(setting, float):
        return f"{setting:.4g}"
    return _short(str(getattr(setting, "__qualname__", setting)))


def _short(text: str) -> str:
    line = text.splitlines()[0] if text else ""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
