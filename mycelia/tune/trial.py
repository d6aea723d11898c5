"""A trial: what an objective is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mycelia._engine.core.checks import check_non_negative_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.tune.pruning import Reports, StoppingRule


class TrialStopped(Exception):  # it ends a trial, nothing is wrong
    """This trial is not worth going on with; the search records it and goes on."""


class Trial(Mapping[str, Any]):
    """One set of settings to try: `trial["lr"]`, or all of them with `**trial`.

    `number` counts trials from 0; `seed` is a whole number of its own for each trial; `directory`
    is a folder for its files if the search has one, else None.
    """

    def __init__(
        self,
        number: int,
        settings: dict[str, Any],
        seed: int,
        *,
        directory: Path | None = None,
        rule: StoppingRule | None = None,
        earlier: Sequence[Reports] = (),
        sign: float = 1.0,
    ) -> None:
        self.number, self.settings, self.seed = number, settings, seed
        self.reports: list[tuple[int, float]] = []
        self._directory, self._rule = directory, rule
        self._earlier, self._sign = earlier, sign

    @property
    def directory(self) -> Path | None:
        """A folder for this trial's files, made when first asked for."""
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True)
        return self._directory

    def report(self, epoch: int, value: Any) -> None:
        """Say how the trial does after an epoch; raises TrialStopped if it does too badly."""
        check_non_negative_int("report", "epoch", epoch)
        if self.reports and epoch <= self.reports[-1][0]:
            raise problem(
                ValueError,
                "report: epochs come in order, each once",
                got=f"epoch {epoch} after epoch {self.reports[-1][0]}",
            )
        self.reports.append((epoch, as_number("report", value)))
        if self._rule is None:
            return
        found = [(at, self._sign * each) for at, each in self.reports]
        if self._rule.is_hopeless(found, self._earlier):
            raise TrialStopped(f"trial {self.number} after epoch {epoch}: {value}")

    def __getitem__(self, name: str) -> Any:
        if name not in self.settings:
            raise problem(
                KeyError,
                f"the space has no setting {name!r}",
                expected=", ".join(self.settings),
            )
        return self.settings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.settings)

    def __len__(self) -> int:
        return len(self.settings)

    def __repr__(self) -> str:
        return f"Trial({self.number}, {self.settings})"


def as_number(owner: str, value: Any) -> float:
    """A number, or a tensor or array of one, as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise wrong_type(owner, "value", value, "a number") from None
