"""Rules that say while a trial runs whether it is worth going on."""

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
    """Decides from what a trial and those before it reported; smaller values are better."""

    def is_hopeless(self, reports: Reports, earlier: Sequence[Reports]) -> bool: ...


@dataclass(frozen=True)
class MedianStopping:
    """Hopeless is a trial whose best value so far is worse than the median of earlier ones.

    These are the best values of the other trials up to the same epoch (Golovin et al., 2017). The
    first `trials` run to their end, and all run for `epochs` epochs.
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
    """The rule that a user named, or gave."""
    if early_stopping is None or hasattr(early_stopping, "is_hopeless"):
        return early_stopping
    if early_stopping == "median":
        return MedianStopping()
    raise problem(
        ValueError,
        "search: unknown 'early_stopping'",
        got=repr(early_stopping),
        expected="'median', None, or an object with is_hopeless(reports, earlier)",
    )


def reports_of(records: Sequence[Record], sign: float) -> list[Reports]:
    """What trials reported, so that smaller is better; failed ones have nothing to say."""
    return [
        [(epoch, sign * value) for epoch, value in record.reports]
        for record in records
        if record.state != FAILED
    ]


def _best_until(epoch: int, reports: Reports) -> float:
    values = [value for at, value in reports if at <= epoch and not math.isnan(value)]
    return min(values, default=math.inf)
