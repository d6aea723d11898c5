"""The reference of sequences of training, and faults that such sequences show."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia.tensor.parameter import Parameter
from tests.fuzz.kinds import states
from tests.fuzz.state import actions
from tests.fuzz.state.actions import ACTIONS, run_all
from tests.fuzz.state.reference import Values
from tests.fuzz.state.runs import KINDS, OPTIMIZERS, Run, difference

TRAIN, SAVE, LOAD = ("train", 0, 2), ("save", "plain"), ("load", 0)


def _moved(run: Run, name: str, place: tuple[int, ...], by: float) -> Values:
    state = {key: value.astype(np.float64) for key, value in run.right.items()}
    state[name][place] += by
    return state


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradients_of_the_reference_are_right(kind: str):
    run = Run(kind, "Momentum")
    run.begin(3)
    x, y = run.batch(0, 4)
    wide = {name: value.astype(np.float64) for name, value in run.right.items()}
    x = x if x.dtype.kind == "i" else x.astype(np.float64)
    found = run.stack.gradients(dict(wide), x, y.astype(np.float64), training=True)

    def loss(state: Values) -> float:
        return float(((run.stack.predicted(state, x, training=True) - y) ** 2).mean())

    for name, gradient in found.items():
        place = next(iter(itertools.product(*map(range, gradient.shape))))
        above, below = (loss(_moved(run, name, place, by)) for by in (1e-6, -1e-6))
        assert gradient[place] == pytest.approx((above - below) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_sequence_passes(optimizer: str):
    sequence = (TRAIN, SAVE, ("fit", 1), LOAD, ("interrupted train", 3, 501), ("predict", 1))
    assert run_all(Run("dense", optimizer), sequence, seed=5) == ""


def test_every_action_is_done():
    run, rng = Run("normalized", "Adam"), random.Random(2)
    for name, (_, draw, _) in ACTIONS.items():
        assert run_all(run, (TRAIN, SAVE, (name, *draw(rng))), seed=5) == "", name


def test_a_lost_write_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Parameter, "__setitem__", lambda *_: None)
    wrong = run_all(Run("dense", "SGD"), (("write", 0, 0, 0.5),), seed=5)
    assert wrong.startswith("a write to a parameter: the state is not")


def test_a_step_too_many_is_found(monkeypatch: pytest.MonkeyPatch):
    step = Run.step

    def twice(self: Run, number: int, size: int) -> None:
        step(self, number, size)
        step(self, number, size)

    monkeypatch.setattr(Run, "step", twice)
    assert run_all(Run("dense", "SGD"), (TRAIN,), seed=5).startswith("train: the state is not")


def test_a_file_that_is_written_late_is_found(monkeypatch: pytest.MonkeyPatch):
    save = ms.save_checkpoint

    def after_a_change(cell: nn.Cell, path: str, **options: bool) -> None:
        weight = next(iter(cell.get_parameters()))
        before = weight.asnumpy().copy()
        weight.set_data(Tensor(before + 1))
        save(cell, path, **options)
        weight.set_data(Tensor(before))

    monkeypatch.setattr(ms, "save_checkpoint", after_a_change)
    assert run_all(Run("dense", "SGD"), (SAVE,), seed=5).startswith("load: the state is not")


def test_a_step_that_an_interrupt_splits_is_found(monkeypatch: pytest.MonkeyPatch):
    def half(self: Run, number: int, size: int) -> None:
        self.parameter("0.weight").set_data(Tensor(self.right["0.weight"] * 0.5))
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "step", half)
    wrong = run_all(Run("dense", "SGD"), (("interrupted train", 2, 10**9),), seed=5)
    assert wrong.startswith("an interrupted train: the state is not")


def test_an_interrupt_comes_where_it_is_wanted():
    reached = []

    def count() -> None:
        for number in range(1000):
            reached.append(number)

    actions.interrupted(51, count)
    assert 0 < len(reached) < 50
    actions.interrupted(10**9, count)
    assert len(reached) > 1000


def test_states_differ_by_more_than_rounding():
    one = {"a": np.ones(3), "n": np.array(7)}
    assert difference({"a": np.ones(3) + 1e-6, "n": np.array(7)}, one) == ""
    assert difference({"a": np.ones(3) + 1e-2, "n": np.array(7)}, one).startswith("a is off")
    assert difference({"a": np.full(3, np.nan), "n": np.array(7)}, one).startswith("a is off")
    assert difference({"a": np.ones(2), "n": np.array(7)}, one).startswith("a of shape")


def test_smaller_sequences_are_simpler():
    case = states.generate(random.Random(3))
    for smaller in states.smaller(case):
        assert len(smaller.actions) < len(case.actions) or smaller.kind == "dense"


def test_files_of_a_sequence_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run_all(Run("dense", "SGD"), (SAVE,), seed=5)
    assert not list(tmp_path.iterdir())
