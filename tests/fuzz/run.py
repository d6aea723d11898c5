"""Running many cases of a kind: seeds, time limits, shrinking, and the summary."""

from __future__ import annotations

import itertools
import random
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax

from mycelia._engine.runtime.eager import backward, dispatch
from tests.fuzz import corpus
from tests.fuzz.kind import Kind
from tests.fuzz.time_limit import TooSlow, at_most

MOST_TRIALS = 400  # of shrinking
SHRINKING_SECONDS = 120.0
FORGET_EVERY = 50


@dataclass
class Outcome:
    """What came of the cases of one kind."""

    name: str
    seed: int
    seconds: float = 0.0
    labels: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    @property
    def cases(self) -> int:
        return sum(self.labels.values())

    def __str__(self) -> str:
        groups = ", ".join(f"{count} {label}" for label, count in sorted(self.labels.items()))
        failing = sum(self.faults.values())
        head = f"{self.name}: seed {self.seed}, {self.cases} cases in {self.seconds:.0f} s"
        faults = "".join(f"\n  {times} times: {what}" for what, times in self.faults.most_common())
        return f"{head}, {failing} failing ({groups}){faults}"


def fuzz(
    name: str,
    kind: Kind,
    seed: int,
    *,
    seconds: float | None = None,
    count: int | None = None,
    keep: Path | None = None,
    shrinking: bool = True,
) -> Outcome:
    """Check random cases until the time or the count is used up.

    Case number i has the seed `seed + i`, so that a count of 1 with that seed repeats it. The first
    case of each fault is made small before it is shown.
    """
    outcome, start = Outcome(name, seed), time.monotonic()
    for number in itertools.count() if count is None else range(count):
        if seconds is not None and time.monotonic() - start >= seconds:
            break
        case = kind.generate(random.Random(seed + number))
        failure = judge(kind, case)
        outcome.labels[kind.label(case)] += 1
        outcome.seconds = time.monotonic() - start
        if failure:
            fault = headline(failure)
            outcome.faults[fault] += 1
            if outcome.faults[fault] == 1 and shrinking:
                case = shrink(kind, case, fault)
            _show(name, kind, case, seed + number, keep, failure)
        if number % FORGET_EVERY == FORGET_EVERY - 1:
            forget_programs()
            _progress(outcome)
    outcome.seconds = time.monotonic() - start
    return outcome


def judge(kind: Kind, case: Any) -> str:
    """What is wrong with a case, or nothing; an error or a timeout of the check is wrong too."""
    try:
        with at_most(kind.SECONDS):
            return kind.check(case)
    except TooSlow as slow:
        return str(slow)
    except Exception as error:  # the check itself must not fail: the report says where it did
        first = (str(error).splitlines() or [""])[0]
        return f"{type(error).__name__}: {first}\n{traceback.format_exc()}"


def headline(failure: str) -> str:
    """The first line of a failure, which names the fault."""
    return failure.splitlines()[0]


def shrink(kind: Kind, case: Any, fault: str, *, seconds: float = SHRINKING_SECONDS) -> Any:
    """The simplest case found that fails with the same first line."""
    end, trials, found = time.monotonic() + seconds, 0, True
    while found:
        found = False
        for simpler in kind.smaller(case):
            trials += 1
            if trials > MOST_TRIALS or time.monotonic() > end:
                return case
            failure = judge(kind, simpler)
            if failure and headline(failure) == fault:
                case, found = simpler, True
                break
    return case


def forget_programs() -> None:
    """Drop compiled programs: thousands of them would fill the memory."""
    dispatch._programs.clear()
    backward._programs.clear()
    jax.clear_caches()


def _show(name: str, kind: Kind, case: Any, seed: int, keep: Path | None, first: str) -> None:
    failure = judge(kind, case) or f"{first}\n(the same case passes when it is checked again)"
    text = getattr(case, "source", "") or corpus.dump(case)
    print(f"\r{' ' * 79}\r---- {name} {seed}\n{text}\n{failure}\n", flush=True)
    if keep is not None:
        (keep / name).mkdir(parents=True, exist_ok=True)
        (keep / name / f"seed_{seed}.json").write_text(corpus.dump(case, failure))


def _progress(outcome: Outcome) -> None:
    failing, each = sum(outcome.faults.values()), outcome.seconds / outcome.cases
    text = f"{outcome.name}: {outcome.cases} cases, {failing} failing, {100 * each:.0f} s/100"
    end = "" if sys.stdout.isatty() else "\n"
    print(f"\r{text}" if not end else text, end=end, flush=True)
