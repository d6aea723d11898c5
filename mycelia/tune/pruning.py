"""Stopping rules, which end hopeless trials early."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

from mycelia._engine.core.checks import check_non_negative_int, check_positive_int
from mycelia._engine.core.errors import problem
from mycelia.tune.records import FAILED, Record

Reports = Sequence[tuple[int, float]]


class StoppingRule(Protocol):
    """Decides from the reports of a trial and of earlier ones; smaller values are better."""

    def is_hopeless(self, reports: Reports, earlier: Sequence[Reports]) -> bool: ...


@dataclass(frozen=True)
class MedianStopping:
    """Stops a trial whose best value so far is worse than the median of earlier trials.

    The median is over the best values of the other trials up to the same epoch (Golovin et al.,
    2017). The first `trials` trials are never stopped, and all run for at least `epochs` epochs.
    """

    trials: int = 5
    epochs: int = 1

    def __post_init__(self) -> None:
        check_positive_int("MedianStopping", "trials", self.trials)
        check_non_negative_int("MedianStopping", "epochs", self.epochs)

    def is_hopeless(self, reports: Reports, earlier: Sequence[Reports]) -> bool:
        """Whether to stop the trial that reported `reports`."""
        if not math.isfinite(reports[-1][1]):
            return True
        now = reports[-1][0]
        others = [_best_until(now, each) for each in earlier if each and each[-1][0] >= now]
        if len(reports) <= self.epochs or len(others) < self.trials:
            return False
        return _best_until(now, reports) > median(others)


def rule_for(early_stopping: Any) -> StoppingRule | None:
    """The stopping rule from a name or an object."""
    if early_stopping is None or hasattr(early_stopping, "is_hopeless"):
        result: StoppingRule | None = early_stopping
        return result
    if early_stopping == "median":
        return MedianStopping()
    raise problem(
        ValueError,
        "search: unknown 'early_stopping'",
        got=repr(early_stopping),
        expected="'median', None, or an object with is_hopeless(reports, earlier)",
    )


def reports_of(records: Sequence[Record], sign: float) -> list[Reports]:
    """The reports of trials, with signs so that smaller is better; failed trials are skipped."""
    return [
        [(epoch, sign * value) for epoch, value in record.reports]
        for record in records
        if record.state != FAILED
    ]


def _best_until(epoch: int, reports: Reports) -> float:
    values = [value for at, value in reports if at <= epoch and not math.isnan(value)]
    return min(values, default=math.inf)
