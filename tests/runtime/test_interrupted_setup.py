"""An interruption while a program is set up: the next call sets it up again, from the start."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia import dataset as ds
from mycelia._engine.runtime import executor, multi_step
from mycelia._engine.runtime.xla.compile import forget_programs

pytestmark = pytest.mark.usefixtures("graph_mode")
X = np.ones((4, 3), np.float32)
Y = np.ones((4, 2), np.float32)


def interrupt_once(monkeypatch: pytest.MonkeyPatch, module: object) -> None:
    """Interrupt the next setup of a program in its middle, as Ctrl-C does."""
    real, calls = module.LoweredGraph, []  # type: ignore[attr-defined]

    def lowered(*args: object, **kwargs: object) -> object:
        calls.append(args)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    monkeypatch.setattr(module, "LoweredGraph", lowered)


def test_a_step_is_set_up_again(monkeypatch: pytest.MonkeyPatch):
    network = nn.Dense(3, 2)
    step = nn.TrainOneStepCell(
        nn.WithLossCell(network, nn.MSELoss()), nn.SGD(network.trainable_params(), 0.1)
    )
    first = float(step(Tensor(X), Tensor(Y)))
    forget_programs()
    interrupt_once(monkeypatch, executor)
    with pytest.raises(KeyboardInterrupt):
        step(Tensor(X), Tensor(Y))
    assert float(step(Tensor(X), Tensor(Y))) < first


def test_steps_in_one_program_are_set_up_again(monkeypatch: pytest.MonkeyPatch):
    network = nn.Dense(3, 2)
    model = ms.Model(network, nn.MSELoss(), nn.SGD(network.trainable_params(), 0.1))
    data = ds.NumpySlicesDataset((X, Y), shuffle=False).batch(2)
    model.train(1, data)  # compiles one step, for the checks before the first
    before = network.weight.asnumpy()
    interrupt_once(monkeypatch, multi_step)
    forget_programs()
    with pytest.raises(KeyboardInterrupt):
        model.train(1, data, dataset_sink_mode=True)
    model.train(1, data, dataset_sink_mode=True)
    assert (network.weight.asnumpy() != before).any()
