"""Trial: the settings passed to an objective."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mycelia._engine.core.checks import check_non_negative_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.tune.pruning import Reports, StoppingRule


class TrialStopped(Exception):  # control flow: ends a trial, and is not an error
    """Stops this trial, which is not promising; the search records it and continues."""


class Trial(Mapping[str, Any]):
    """One set of settings to try: `trial["lr"]`, or all of them with `**trial`.

    `number` counts trials from 0; `seed` is an integer that is different for each trial;
    `directory` is a folder for its files if the search has one, else None.
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
        """A folder for this trial's files, created on first use."""
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True)
        return self._directory

    def report(self, epoch: int, value: Any) -> None:
        """Report a value after an epoch; raises TrialStopped if the trial is hopeless."""
        check_non_negative_int("report", "epoch", epoch)
        if self.reports and epoch <= self.reports[-1][0]:
            raise problem(
                ValueError,
                "report: epochs must increase",
                got=f"epoch {epoch} after epoch {self.reports[-1][0]}",
            )
        self.reports.append((epoch, as_number("report", value)))
        if self._rule is None:
            return
        reports = [(at, self._sign * each) for at, each in self.reports]
        if self._rule.is_hopeless(reports, self._earlier):
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
    """Convert a number, or a tensor or array of one element, to a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise wrong_type(owner, "value", value, "a number") from None
