"""A sample of the random programs of scripts/fuzz, and of what finds their faults."""

from __future__ import annotations

import random
from typing import Any

import pytest

import mycelia
from tests.compiler.generate import generate
from tests.compiler.shrink import shrink
from tests.compiler.stateful import examine_state, stateful_program
from tests.compiler.three_ways import (
    Inputs,
    Subject,
    examine,
    finite_differences,
    is_telling,
    load,
    run_reference,
)

INPUTS = Inputs((0.5, -1.0, 1.5), 0.75, 2, 3, 0.25)


@pytest.mark.parametrize(
    "seed", [pytest.param(s, marks=[pytest.mark.slow] * (s >= 40)) for s in range(60)]
)
def test_all_three_ways_agree(seed: int):
    program = generate(random.Random(seed))
    report = examine(program.source, seed, program.differentiable, numeric=seed % 4 == 0, runs=2)
    assert report.disagreement is None, f"{program.source}\n{report.disagreement}"


def test_the_same_seed_gives_the_same_program():
    assert generate(random.Random(5)) == generate(random.Random(5))
    assert generate(random.Random(5)) != generate(random.Random(6))


def test_most_programs_say_something():
    telling = 0
    for seed in range(100):
        program = generate(random.Random(seed))
        telling += is_telling(run_reference(program.source, INPUTS).watch, smooth=False)
    assert telling >= 70


def test_a_wrong_value_is_found():
    subject = Subject("def program(x, s, n, k, r):\n    return x.sum() + s\n")
    subject.compiled = load("def program(x, s, n, k, r):\n    return x.sum() - s\n")
    found = subject.check(INPUTS, run_reference(subject.source, INPUTS))
    assert found is not None
    assert found.what == "the compiled program differs from eager mode"


def test_a_wrong_type_is_found():
    subject = Subject("def program(x, s, n, k, r):\n    return r * 2.0\n")
    subject.compiled = load("def program(x, s, n, k, r):\n    return s * 0 + r * 2.0\n")
    found = subject.check(INPUTS, run_reference(subject.source, INPUTS))
    assert found is not None
    assert found.what == "the types of the compiled program differ from eager mode"


def test_a_wrong_gradient_is_found():
    subject = Subject("def program(x, s, n, k, r):\n    return (x * x).sum() * s\n")
    subject.source = "def program(x, s, n, k, r):\n    return (x * x).sum() * s * 1.01\n"
    found = subject.check_gradient(INPUTS, numeric=True)
    assert found is not None
    assert found.what == "the gradient differs from finite differences"


def test_no_differences_are_taken_across_a_decision():
    source = "def program(x, s, n, k, r):\n    return x * 2.0 if s > 0.75 else x\n"
    assert finite_differences(source, INPUTS) is None


def test_near_ties_and_huge_numbers_say_nothing():
    tie = run_reference("def program(x, s, n, k, r):\n    return x if s > 0.75 else s\n", INPUTS)
    huge = run_reference("def program(x, s, n, k, r):\n    return s * 1e6\n", INPUTS)
    corner = run_reference("def program(x, s, n, k, r):\n    return abs(s - 0.75)\n", INPUTS)
    assert not is_telling(tie.watch, smooth=False)
    assert not is_telling(huge.watch, smooth=False)
    assert is_telling(corner.watch, smooth=False)
    assert not is_telling(corner.watch, smooth=True)


def test_a_failing_program_is_made_small():
    source = (
        "def program(x, s, n, k, r):\n"
        "    y = x * 2.0\n"
        "    for i in range(n):\n"
        "        if s > 0:\n"
        "            y = y + ops.tanh(s)\n"
        "    return y\n"
    )
    found = shrink(source, lambda text: "tanh" in text)
    assert found == "def program(x, s, n, k, r):\n    y = y + ops.tanh(s)\n"


def test_random_programs_keep_the_same_state():
    for number in range(6):
        rng = random.Random(4000 + number)
        source = stateful_program(rng)
        assert examine_state(source, number) == "", source


def test_state_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch):
    def forgets(fn: Any) -> Any:
        def run(*arguments: Any) -> Any:
            result = fn(*arguments)
            fn.__globals__["kept"].count = 0
            return result

        return run

    monkeypatch.setattr(mycelia, "jit", forgets)
    source = "def program(x, s, n, k, r):\n    kept.count += 1\n    return x * 1.0\n"
    assert examine_state(source, 3).startswith("the compiled program keeps something else")
