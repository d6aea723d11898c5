"""Learning-rate schedules and lists against the real MindSpore."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mycelia._engine.runtime.eager.dispatch  # noqa: F401
from mycelia.nn import dynamic_lr, learning_rate_schedule
from mycelia.tensor.tensor import Tensor
from tests.goldens.schedule_cases import LISTS, SCHEDULES, schedule_values

GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "schedules.npz")
NN = SimpleNamespace(**(vars(dynamic_lr) | vars(learning_rate_schedule)))
MS = SimpleNamespace(nn=NN, Tensor=Tensor)


@pytest.mark.parametrize("case", SCHEDULES)
def test_a_schedule_gives_mindspores_rates(case: str):
    ours = schedule_values(MS, case)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, GOLDENS[f"schedule:{case}"], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("case", SCHEDULES)
@pytest.mark.parametrize("step", [2, Tensor(np.int64(2)), Tensor(np.float32(2))], ids=repr)
def test_a_step_may_be_any_number(case: str, step):
    rate = SCHEDULES[case](NN)(step)
    assert rate.shape == () and str(rate.dtype) == "Float32"
    np.testing.assert_allclose(float(rate), GOLDENS[f"schedule:{case}"][2], rtol=1e-5)


@pytest.mark.parametrize("case", LISTS)
def test_a_list_has_mindspores_rates(case: str):
    ours = LISTS[case](NN)
    assert isinstance(ours, list) and all(type(rate) is float for rate in ours)
    np.testing.assert_allclose(ours, GOLDENS[f"list:{case}"], rtol=1e-12)


def test_the_base_class_has_no_rate():
    with pytest.raises(NotImplementedError):
        learning_rate_schedule.LearningRateSchedule()(Tensor(1))


@pytest.mark.parametrize("name", ["ExponentialDecayLR", "NaturalExpDecayLR", "InverseDecayLR"])
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((0.0, 0.9, 4), ValueError),
        ((1, 0.9, 4), TypeError),
        ((0.1, -0.1, 4), ValueError),
        ((0.1, 1, 4), TypeError),
        ((0.1, 0.9, 0), ValueError),
        ((0.1, 0.9, 4.0), TypeError),
        ((0.1, 0.9, 4, 1), TypeError),
    ],
)
def test_wrong_arguments_of_decays_are_refused(name: str, arguments, error):
    with pytest.raises(error):
        getattr(NN, name)(*arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("CosineDecayLR", (1, 2.0, 4), TypeError),
        ("CosineDecayLR", (-0.1, 0.1, 4), ValueError),
        ("CosineDecayLR", (0.1, 0.1, 4), ValueError),
        ("CosineDecayLR", (0.01, 0.1, 0), ValueError),
        ("PolynomialDecayLR", (0.0, 0.01, 4, 0.5), ValueError),
        ("PolynomialDecayLR", (0.1, 1, 4, 0.5), TypeError),
        ("PolynomialDecayLR", (0.1, 0.01, 4, 0.0), ValueError),
        ("PolynomialDecayLR", (0.1, 0.01, 4, 0.5, 1), TypeError),
        ("WarmUpLR", (1, 4), TypeError),
        ("WarmUpLR", (-0.1, 4), ValueError),
        ("WarmUpLR", (0.1, 4.0), TypeError),
        ("piecewise_constant_lr", ([2, 5], [0.1]), ValueError),
        ("piecewise_constant_lr", ([5, 2], [0.1, 0.2]), ValueError),
        ("piecewise_constant_lr", ([2.0], [0.1]), TypeError),
        ("piecewise_constant_lr", ([2], [1]), TypeError),
        ("piecewise_constant_lr", (3, [0.1]), TypeError),
        ("exponential_decay_lr", (0.1, 0.9, 0, 2, 1), ValueError),
        ("natural_exp_decay_lr", (0.1, 0.9, 6, 2.0, 1), TypeError),
        ("inverse_decay_lr", (0.1, 0.9, 6, 2, 1, 1), TypeError),
        ("cosine_decay_lr", (0.2, 0.1, 6, 2, 2), ValueError),
        ("polynomial_decay_lr", (0.1, 0.01, 6, 2, 2, -1.0), ValueError),
        ("warmup_lr", (0.1, 6, 2, 0), ValueError),
        ("warmup_lr", (1, 6, 2, 2), TypeError),
    ],
)
def test_wrong_arguments_are_refused(name: str, arguments, error):
    with pytest.raises(error):
        getattr(NN, name)(*arguments)
