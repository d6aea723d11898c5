"""The search loop: runs trials one after another and records each."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_non_negative_int, check_positive_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.tune.algorithms import Proposer, proposer
from mycelia.tune.pruning import StoppingRule, reports_of, rule_for
from mycelia.tune.records import (
    FAILED,
    FILE,
    FINISHED,
    STOPPED,
    Record,
    TrialFile,
    as_written,
    heading_of,
    in_terms_of,
)
from mycelia.tune.results import Results, sign_of
from mycelia.tune.space import Space, check_space
from mycelia.tune.trial import Trial, TrialStopped, as_number

_DIRECTIONS = ("minimize", "maximize")


def search(
    objective: Callable[[Trial], Any],
    space: Space,
    trials: int = 20,
    algorithm: str = "random",
    direction: str = "minimize",
    seed: int = 0,
    early_stopping: str | StoppingRule | None = "median",
    directory: str | Path | None = None,
    show_progress: bool = True,
) -> Results:
    """Search a space for the settings with the best value.

    `objective(trial)` trains with `trial["lr"]` and so on, and returns the value; it may call
    `trial.report(epoch, value)`, which stops hopeless trials by the rule `early_stopping`. The
    `algorithm` is "random", or "tpe", which learns from earlier trials and needs Optuna. A trial
    that raises is recorded as failed, and the search continues; Ctrl-C ends it and keeps the
    results. With `directory`, trials are stored there, and the same search resumes from them.
    """
    if not callable(objective):
        raise wrong_type("search", "objective", objective, "a function of a trial")
    space = check_space(space)
    check_positive_int("search", "trials", trials)
    check_non_negative_int("search", "seed", seed)
    check_bool("search", "show_progress", show_progress)
    if direction not in _DIRECTIONS:
        raise problem(
            ValueError,
            "search: unknown direction",
            got=repr(direction),
            expected=", ".join(map(repr, _DIRECTIONS)),
        )
    run = _TuningRun(objective, space, trials, proposer(algorithm), direction, seed)
    run.heading = heading_of(space, algorithm, direction, seed)
    run.rule, run.show_progress = rule_for(early_stopping), show_progress
    if directory is not None:
        run.store_in(Path(directory))
    return run.results(interrupted=run.run())


class _TuningRun:
    """A search in progress: the trials so far, and how to run the next one."""

    heading: dict[str, Any]
    rule: StoppingRule | None
    show_progress: bool

    def __init__(
        self,
        objective: Callable[[Trial], Any],
        space: Space,
        count: int,
        propose: Proposer,
        direction: str,
        seed: int,
    ) -> None:
        self._objective, self._space, self._count = objective, space, count
        self._propose, self._direction, self._seed = propose, direction, seed
        self._records: list[Record] = []
        self._directory: Path | None = None
        self._file: TrialFile | None = None

    def store_in(self, directory: Path) -> None:
        """Store trials in a directory, and load the trials in it."""
        self._directory = directory
        self._file = TrialFile(directory / FILE, self.heading)
        self._records = [in_terms_of(record, self._space) for record in self._file.open()]

    def run(self) -> bool:
        """Run the remaining trials; returns whether Ctrl-C interrupted them."""
        try:
            while len(self._records) < self._count:
                record = self._run_trial(len(self._records))
                if self._file is not None:
                    self._file.add(as_written(record, self._space))
                self._records.append(record)
                if self.show_progress:
                    print(self._progress(record), flush=True)
        except KeyboardInterrupt:
            if not self._records:
                raise
            if self.show_progress:
                print(f"interrupted after {len(self._records)} trials", flush=True)
            return True
        return False

    def results(self, *, interrupted: bool) -> Results:
        """The results; raises if no trial has a value."""
        if all(record.state == FAILED for record in self._records):
            last = self._records[-1]
            raise problem(
                RuntimeError,
                "search: all trials failed",
                got=f"{len(self._records)} trials; the last error was\n{last.error}",
                fix="call the objective with a Trial yourself, and check its error",
            )
        records = tuple(self._records)
        return Results(records, self._direction, self.heading, self._space, interrupted)

    def _run_trial(self, number: int) -> Record:
        sign = sign_of(self._direction)
        settings = self._propose(self._space, self._records, sign, self._seed, number)
        folder = None if self._directory is None else self._directory / f"trial_{number}"
        trial = Trial(
            number,
            settings,
            int(np.random.default_rng([self._seed, number, 1]).integers(2**31)),
            directory=folder,
            rule=self.rule,
            earlier=reports_of(self._records, sign),
            sign=sign,
        )
        started, value, error = time.perf_counter(), None, ""
        try:
            state, value = FINISHED, _value(self._objective(trial), trial)
        except TrialStopped:
            state, value = STOPPED, trial.reports[-1][1] if trial.reports else None
        except Exception:
            state, error = FAILED, _own_part(traceback.format_exc())
        seconds = time.perf_counter() - started
        return Record(number, state, settings, value, tuple(trial.reports), seconds, error)

    def _progress(self, record: Record) -> str:
        shown = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}"
                          for k, v in record.settings.items())  # fmt: skip
        outcome = record.state if record.value is None else f"{record.value:.6g}"
        if record.state == STOPPED:
            outcome += " (stopped)"
        return f"trial {record.number + 1}/{self._count}: {outcome}  {shown}"


def _value(returned: Any, trial: Trial) -> float:
    """The value of a finished trial: the objective's result, or the last report."""
    if returned is None and trial.reports:
        returned = trial.reports[-1][1]
    value = as_number("objective", returned)
    if not math.isfinite(value):
        raise problem(ValueError, "the value of the trial is not finite", got=str(value))
    return value


def _own_part(text: str) -> str:
    """A traceback with the error first."""
    lines = text.strip().splitlines()
    starts = [i for i, line in enumerate(lines) if line and not line.startswith((" ", "Traceback"))]
    last = starts[-1] if starts else 0
    return "\n".join([*lines[last:], *lines[:last]])
