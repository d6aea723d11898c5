"""Many cases of a kind: failures are found, made small, counted, and saved."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import corpus, kind, run


@dataclass(frozen=True)
class Number:
    value: int


class Numbers:
    """A kind whose numbers above ten are wrong, and above ninety raise."""

    Case = Number
    SECONDS = 1

    def generate(self, rng: random.Random) -> Number:
        return Number(rng.randrange(100))

    def check(self, case: Number) -> str:
        if case.value > 90:
            raise ValueError("too large")
        return f"above ten\n{case.value}" if case.value > 10 else ""

    def smaller(self, case: Number) -> Iterator[Number]:
        yield Number(case.value // 2)
        yield Number(case.value - 1)

    def label(self, case: Number) -> str:
        return "even" if case.value % 2 == 0 else "odd"


def test_every_kind_of_the_folder_is_a_kind():
    for name in kind.names():
        found = kind.find(name)
        for member in ("Case", "SECONDS", "generate", "check", "smaller", "label"):
            assert hasattr(found, member), f"{name} has no {member}"


def test_failures_are_counted_by_their_first_line():
    outcome = run.fuzz("numbers", Numbers(), seed=0, count=60)
    assert outcome.cases == 60
    assert set(outcome.faults) == {"above ten", "ValueError: too large"}
    assert set(outcome.labels) == {"even", "odd"}


def test_a_failing_case_is_made_small():
    assert run.shrink(Numbers(), Number(80), "above ten") == Number(11)


def test_an_error_of_the_check_is_a_failure():
    assert run.headline(run.judge(Numbers(), Number(95))) == "ValueError: too large"


def test_a_case_that_takes_too_long_is_a_failure():
    class Slow(Numbers):
        def check(self, case: Number) -> str:
            time.sleep(3)
            return ""

    assert run.judge(Slow(), Number(1)) == "takes more than 1 s"


def test_failing_cases_are_saved_as_they_can_be_replayed(tmp_path: Path):
    run.fuzz("numbers", Numbers(), seed=0, count=30, keep=tmp_path)
    saved = sorted((tmp_path / "numbers").glob("*.json"))
    cases = [corpus.load(Numbers(), file.read_text()) for file in saved]
    assert Number(11) in cases
    assert all(run.judge(Numbers(), case) for case in cases)


def test_a_time_limit_ends_the_run():
    assert run.fuzz("numbers", Numbers(), seed=0, seconds=0.0).cases == 0
