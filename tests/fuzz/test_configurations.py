"""The references that layers are compared with, and that faults show."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mycelia import Tensor, ops
from tests.fuzz.configuration import windows
from tests.fuzz.configuration.judge import verdict
from tests.fuzz.configuration.registry import GROUPS, SUBJECTS
from tests.fuzz.configuration.results import leaves
from tests.fuzz.configuration.subject import Problem, Values
from tests.fuzz.kinds import configurations


def _square(scale: float = 1.0, shift: float = 0.0) -> Problem:
    def reference(x: np.ndarray) -> np.ndarray:
        return scale * x**2 + shift

    return Problem(ops.square, reference, (Values(1, "float32").normal(3, 4),))


def test_a_right_problem_passes():
    assert verdict(_square(), "float32", 1) == ""


def test_a_wrong_value_is_found():
    assert verdict(_square(shift=0.01), "float32", 1).startswith("eager mode: the value differs")


def test_a_wrong_gradient_is_found():
    problem = replace(_square(), call=lambda x: ops.stop_gradient(x) * x)
    assert "the gradient differs from differences" in verdict(problem, "float32", 1)


def test_a_wrong_second_gradient_is_found():
    def once(x: Any) -> Any:
        held = ops.stop_gradient(x)
        return 2 * held * x - held * held

    problem = replace(_square(), call=once)
    assert verdict(replace(problem, order=1), "float32", 1) == ""
    assert "the second gradient differs from differences" in verdict(problem, "float32", 1)


def test_results_that_change_between_calls_are_found():
    calls = iter(range(100))

    def changing(x: Any) -> Any:
        return x * float(next(calls))

    problem = replace(_square(), call=changing, reference=lambda x: x, order=0)
    assert verdict(problem, "float32", 1).startswith("eager mode: the value differs between")


def test_a_convolution_from_its_definition():
    x, weight = np.arange(5.0).reshape(1, 1, 5), np.array([[[1.0, 10.0]]])
    found = windows.convolution(x, weight, (2,), ((1, 1),), (1,))
    np.testing.assert_array_equal(found, [[[0, 21, 43]]])


def test_a_transposed_convolution_is_the_transpose():
    random = np.random.default_rng(3)
    x, weight = random.normal(size=(1, 4, 7)), random.normal(size=(6, 2, 3))
    sizes = (2,), ((1, 2),), (2,), 2
    found = windows.convolution(x, weight, *sizes)
    dout = random.normal(size=found.shape)
    back = windows.transposed_convolution(dout, weight, *sizes, (7,))
    assert np.sum(found * dout) == pytest.approx(np.sum(x * back))


@pytest.mark.parametrize(
    "name", [n for n, s in SUBJECTS.items() if s.group not in ("operators", "large sizes")]
)
def test_the_reference_has_the_shapes_of_the_layer(name: str):
    subject, rng = SUBJECTS[name], random.Random(4)
    settings = subject.draw(rng)
    while not subject.fits(settings):
        settings = subject.draw(rng)
    problem = subject.problem(settings, Values(2, "float32"))
    weights = [w.asnumpy() for w in problem.weights]
    wanted = problem.reference(*problem.inputs, *weights)
    found = problem.call(*map(Tensor, problem.inputs))
    assert [part.shape for part in leaves(found)] == [part.shape for part in leaves(wanted)]


def test_every_group_has_subjects():
    assert {subject.group for subject in SUBJECTS.values()} == set(GROUPS)


def test_smaller_cases_are_simpler():
    case = configurations.generate(random.Random(3))
    for smaller in configurations.smaller(case):
        assert smaller != case
