"""The results of a search: the best trial, a table, a plot, a file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.tune import picture
from mycelia.tune.records import FAILED, FINISHED, STOPPED, Record, as_written, read, write_whole
from mycelia.tune.space import Space

_LONGEST = 40  # maximum characters of an error or setting in a table


@dataclass(frozen=True)
class Results:
    """The trials of a search, in order.

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
        """The best finished trial; if none finished, the best stopped trial."""
        ranked = self.ranked()
        if not ranked or ranked[0].state == FAILED:
            raise problem(
                RuntimeError,
                "the search has no trial with a value",
                got=f"{len(self.trials)} trials",
            )
        return ranked[0]

    def ranked(self) -> list[Record]:
        """The trials, best first: finished, then stopped, then failed ones."""
        sign = sign_of(self.direction)
        states = (FINISHED, STOPPED, FAILED)

        def rank(record: Record) -> tuple[int, float, int]:
            value = math.inf if record.value is None else sign * record.value
            return states.index(record.state), value, record.number

        return sorted(self.trials, key=rank)

    def table(self) -> str:
        """The trials as a text table, best first."""
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
        """Plot the values by trial and by setting into a file."""
        return picture.draw(self.trials, self.heading, Path(path))

    def save(self, path: str | Path) -> Path:
        """Write the trials to a file for `tune.load`."""
        records = self.trials
        if self.space is not None:
            records = tuple(as_written(record, self.space) for record in records)
        write_whole(Path(path), self.heading, records)
        return Path(path)

    def __str__(self) -> str:
        return self.table()


def load(path: str | Path) -> Results:
    """Load results from a file of `Results.save`, or the `trials.jsonl` of a search.

    Options that are not plain values are represented by their names.
    """
    heading, records = read(Path(path))
    if "mycelia_trials" not in heading:
        raise problem(ValueError, f"{path} is not a file of trials", got=str(heading)[:80])
    return Results(tuple(records), heading["direction"], heading)


def sign_of(direction: str) -> float:
    """The factor of values that makes smaller better."""
    return -1.0 if direction == "maximize" else 1.0


def _shown(setting: Any) -> str:
    if isinstance(setting, float):
        return f"{setting:.4g}"
    return _short(str(getattr(setting, "__qualname__", setting)))


def _short(text: str) -> str:
    line = text.splitlines()[0] if text else ""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
