"""Schedulers of learning rates, against values of the real system."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn
from mycelia.experimental import optim
from mycelia.experimental.optim import lr_scheduler
from tests.goldens.experimental_cases import RATE_STEPS, SCHEDULERS, title, weights

GOLDENS = np.load(Path(__file__).parents[1] / "goldens" / "experimental.npz")

KINDS = [
    lr_scheduler.StepLR, lr_scheduler.MultiStepLR, lr_scheduler.ExponentialLR,
    lr_scheduler.PolynomialLR, lr_scheduler.LinearLR, lr_scheduler.ConstantLR,
    lr_scheduler.CosineAnnealingLR, lr_scheduler.CosineAnnealingWarmRestarts,
    lr_scheduler.CyclicLR,
]  # fmt: skip


def _optimizer(lr: float = 0.3, second: float = 0.02) -> optim.Optimizer:
    one, two = (Parameter(Tensor(w), name=f"p{i}") for i, w in enumerate(weights()))
    return optim.SGD([{"params": [one]}, {"params": [two], "lr": second}], lr)


def _rates(optimizer: optim.Optimizer, scheduler, steps: int) -> list[list[float]]:
    found = []
    for _ in range(steps):
        found.append([float(group["lr"]) for group in optimizer.param_groups])
        scheduler.step()
    return found


@pytest.mark.parametrize(
    ("number", "name", "options"),
    [(i, name, options) for i, (name, options) in enumerate(SCHEDULERS)],
    ids=[f"{i}-{name}" for i, (name, _) in enumerate(SCHEDULERS)],
)
def test_rates_are_those_of_the_real_system(number, name, options):
    optimizer = _optimizer()
    kind = getattr(lr_scheduler, name)
    assert kind in KINDS
    found = _rates(optimizer, kind(optimizer, **options), RATE_STEPS)
    np.testing.assert_allclose(found, GOLDENS[title(name, number)], rtol=1e-4, atol=1e-7)


def test_functions_of_the_epoch():
    optimizer = _optimizer()
    scheduler = lr_scheduler.LambdaLR(optimizer, [lambda e: 0.5**e, lambda e: 1 + e])
    np.testing.assert_allclose(
        _rates(optimizer, scheduler, 3), [[0.3, 0.02], [0.15, 0.04], [0.075, 0.06]], rtol=1e-5
    )
    optimizer = _optimizer()
    scheduler = lr_scheduler.MultiplicativeLR(optimizer, lambda e: 0.5)
    np.testing.assert_allclose(
        _rates(optimizer, scheduler, 3), [[0.3, 0.02], [0.15, 0.01], [0.075, 0.005]], rtol=1e-5
    )


def test_one_scheduler_after_another():
    optimizer = _optimizer(0.1, 0.1)
    first = lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
    second = lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    scheduler = lr_scheduler.SequentialLR(optimizer, [first, second], [3])
    found = [pair[0] for pair in _rates(optimizer, scheduler, 6)]
    np.testing.assert_allclose(found, [0.01, 0.01, 0.1, 0.1, 0.09, 0.081], rtol=1e-5)
    assert float(scheduler.get_last_lr()[0]) == pytest.approx(0.0729, rel=1e-5)


def test_a_plateau_lowers_the_rate():
    optimizer = _optimizer(0.1, 0.1)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.005, 0.0])
    found = []
    for value in (1.0, 1.0, 1.0, 0.5):
        assert scheduler.step(Tensor(value)) is True
        found.append([float(rate) for rate in scheduler.get_last_lr()])
    np.testing.assert_allclose(
        found, [[0.1, 0.1], [0.01, 0.01], [0.005, 0.001], [0.005, 0.001]], rtol=1e-5
    )
    assert scheduler.in_cooldown is False
    patient = lr_scheduler.ReduceLROnPlateau(_optimizer(), "max", patience=1, cooldown=2)
    for value in (1.0, 1.0, 1.0, 1.0, 1.0):
        patient.step(value)
    assert float(patient.get_last_lr()[0]) == pytest.approx(0.03)
    assert patient.in_cooldown is False


def test_a_scheduler_of_ones_own():
    class Halving(lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base / 2**self.last_epoch for base in self.base_lrs]

    optimizer = _optimizer()
    scheduler = Halving(optimizer)
    scheduler.step()
    assert float(scheduler.get_last_lr()[0]) == pytest.approx(0.15)
    assert scheduler.get_last_lr()[0].dtype is ms.float32
    assert scheduler.last_epoch == 1
    with pytest.raises(NotImplementedError):
        lr_scheduler.LRScheduler(optimizer)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda o: lr_scheduler.StepLR(3, 2), TypeError),
        (lambda o: lr_scheduler.StepLR(o, 2.5), TypeError),
        (lambda o: lr_scheduler.ExponentialLR(o, "a"), TypeError),
        (lambda o: lr_scheduler.LinearLR(o, 2.0), ValueError),
        (lambda o: lr_scheduler.ConstantLR(o, 2.0), ValueError),
        (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 0), ValueError),
        (lambda o: lr_scheduler.LambdaLR(o, 3), TypeError),
        (lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.5, mode="x"), ValueError),
        (lambda o: lr_scheduler.CyclicLR(o, [0.1], 0.5), ValueError),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, "x"), ValueError),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=2.0), ValueError),
        (lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(o, 2)], [1]), ValueError),
    ],
)
def test_wrong_settings(make, error):
    with pytest.raises(error):
        make(_optimizer())


IN_PROGRAMS = {
    "LambdaLR": {"lr_lambda": lambda epoch: 0.5**epoch},
    "MultiplicativeLR": {"lr_lambda": lambda epoch: 0.5},
    "ReduceLROnPlateau": {"patience": 1},
}


class _Stepping(nn.Cell):
    """A cell that steps a scheduler, as a training step does."""

    def __init__(self, scheduler):
        super().__init__()
        self.scheduler = scheduler

    def construct(self, *args):
        self.scheduler.step(*args)
        return self.scheduler.get_last_lr()


@pytest.mark.parametrize(
    ("name", "options"),
    [*SCHEDULERS, *IN_PROGRAMS.items()],
    ids=[f"{i}-{name}" for i, (name, _) in enumerate([*SCHEDULERS, *IN_PROGRAMS.items()])],
)
def test_schedulers_advance_with_each_call_of_a_compiled_program(name, options):
    def run(mode):
        ms.set_context(mode=mode)
        cell = _Stepping(getattr(lr_scheduler, name)(_optimizer(), **options))
        given = (Tensor(1.0),) if name == "ReduceLROnPlateau" else ()
        return [[float(rate) for rate in cell(*given)] for _ in range(5)]

    eager = run(ms.PYNATIVE_MODE)
    np.testing.assert_allclose(run(ms.GRAPH_MODE), eager, rtol=1e-5, atol=1e-8)
    assert len(set(map(tuple, eager))) > 1


def test_a_sequence_of_schedulers_advances_in_a_compiled_program(modes):
    optimizer = _optimizer()
    parts = [lr_scheduler.ConstantLR(optimizer, 0.1, 2), lr_scheduler.ExponentialLR(optimizer, 0.9)]
    cell = _Stepping(lr_scheduler.SequentialLR(optimizer, parts, [2]))
    found = [float(cell()[0]) for _ in range(3)]
    np.testing.assert_allclose(found, [0.03, 0.3, 0.27], rtol=1e-5)


def test_the_rates_of_a_custom_scheduler_advance_in_a_compiled_program(modes):
    class Halving(lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base * 0.5**self.last_epoch for base in self.base_lrs]

    cell = _Stepping(Halving(_optimizer()))
    np.testing.assert_allclose(
        [float(cell()[0]) for _ in range(3)], [0.15, 0.075, 0.0375], rtol=1e-5
    )
