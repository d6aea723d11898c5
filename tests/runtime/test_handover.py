"""A program that writes parameters in place: an error or an interruption splits no step."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia._engine.runtime.executor import Executable

pytestmark = pytest.mark.usefixtures("graph_mode")
X = Tensor(np.ones((4, 8), np.float32))
Y = Tensor(np.zeros((4, 2), np.float32))


def _step() -> Any:
    net = nn.Dense(8, 2, weight_init="normal")
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    return nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)


def _executable(step: Any) -> Executable:
    (entry,) = step._compiled().entries.values()
    return entry.executable


def _state(step: Any) -> list[np.ndarray]:
    return [p.asnumpy().copy() for p in step.get_parameters()]


def _fail_after_the_run(step: Any, error: BaseException) -> Any:
    """Let the next run raise an error when it is over, as an interruption does; gives the undo."""
    executable = _executable(step)
    run = executable._run

    def failing(*arrays: Any) -> Any:
        run(*arrays)
        raise error

    executable._run = failing
    return lambda: setattr(executable, "_run", run)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), SystemExit(1)])
def test_what_a_run_delivered_is_assigned_whatever_is_raised_after_it(error: BaseException):
    ms.set_seed(1)
    step, other = _step(), _step()
    for mine, its in zip(other.get_parameters(), step.get_parameters(), strict=True):
        mine.set_data(its)
    for cell in (step, other):
        cell(X, Y)
        cell(X, Y)
    repair = _fail_after_the_run(step, error)
    with pytest.raises(type(error)):
        step(X, Y)
    repair()
    other(X, Y)
    for mine, its in zip(_state(step), _state(other), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert np.isfinite(float(step(X, Y).asnumpy()))


def test_arrays_that_a_failed_run_consumed_say_what_to_reload(tmp_path):
    step = _step()
    step(X, Y)
    ms.save_checkpoint(step, str(tmp_path / "net.ckpt"))
    step(X, Y)
    executable = _executable(step)
    run = executable._run

    def consuming(*arrays: Any) -> Any:
        for array in arrays:
            if hasattr(array, "delete") and array.shape != ():
                array.delete()
        raise RuntimeError("the device is gone")

    executable._run = consuming
    with pytest.raises(RuntimeError, match="the device is gone"):
        step(X, Y)
    executable._run = run
    for use in (
        lambda: step(X, Y),
        lambda: step.network(X, Y),
        lambda: ms.save_checkpoint(step, str(tmp_path / "other.ckpt")),
        lambda: step.optimizer.parameters[0].asnumpy(),
        lambda: step.optimizer.parameters[0] + 1,
    ):
        with pytest.raises(RuntimeError, match=r"load_checkpoint") as found:
            use()
        assert "deleted" not in str(found.value)
    ms.load_param_into_net(step, ms.load_checkpoint(str(tmp_path / "net.ckpt")))
    assert np.isfinite(float(step(X, Y).asnumpy()))


def test_exceptions_sent_to_a_thread_leave_a_completed_step():
    step = _step()
    step(X, Y)
    for _ in range(20):
        thread, counted = _training_thread(step)
        while not counted:
            time.sleep(0.001)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
        )
        thread.join()
        assert all(np.isfinite(array).all() for array in _state(step))
        assert np.isfinite(float(step(X, Y).asnumpy()))


def _training_thread(step: Any) -> tuple[threading.Thread, list[int]]:
    counted: list[int] = []

    def train() -> None:
        try:
            while True:
                step(X, Y)
                counted.append(1)
        except KeyboardInterrupt:
            return

    ms.set_context(mode=ms.GRAPH_MODE)
    thread = threading.Thread(target=train)
    thread.start()
    return thread, counted


def test_two_threads_may_run_one_step():
    step = _step()
    step(X, Y)
    count = int(step.optimizer.global_step.asnumpy()[0])
    threads = [threading.Thread(target=lambda: [step(X, Y) for _ in range(50)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int(step.optimizer.global_step.asnumpy()[0]) == count + 100


def test_the_steady_step_needs_no_other_thread(monkeypatch: pytest.MonkeyPatch):
    step = _step()
    for _ in range(4):
        step(X, Y)

    def never(action: Any) -> Any:
        raise AssertionError("a steady step left its thread")

    monkeypatch.setattr("mycelia._engine.runtime.buffer_donation.uninterruptible", never)
    step(X, Y)
