"""The ProgressBar callback: show the progress of training."""

from __future__ import annotations

import time
from typing import Any, TextIO

import numpy as np

from mycelia._engine.core.checks import check_positive_float, check_string
from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.callback import Callback, loss_of, step_in_epoch
from mycelia.train.callback.status_line import ProgressDisplay, display

_OWNER = "ProgressBar"
_UNITS = ("steps", "samples")


class ProgressBar(Callback):
    """Shows epoch, step, loss, speed, and the remaining time.

    On a terminal, one line is updated at most `per_second` times a second, with a bar if rich is
    installed; elsewhere a line is printed every `every` seconds and after each epoch. `unit` is
    the unit of the speed: "steps" or "samples" per second. `file` is the output stream, by default
    standard output.
    """

    only_reads_results = True

    def __init__(
        self,
        per_second: float = 10.0,
        every: float = 10.0,
        unit: str = "steps",
        file: TextIO | None = None,
    ) -> None:
        super().__init__()
        self._pause = 1 / check_positive_float(_OWNER, "per_second", per_second)
        self._every = check_positive_float(_OWNER, "every", every)
        self._unit = check_string(_OWNER, "unit", unit, _UNITS)
        self._file = file
        self._display: ProgressDisplay | None = None

    def on_train_begin(self, run_context: Any) -> None:
        self._display = display(self._file, self._every)
        self._began = self._shown = time.monotonic()
        self._first: int | None = None  # the number of steps before this run

    def on_train_step_begin(self, run_context: Any) -> None:
        if self._first is None:
            self._first = run_context.original_args().cur_step_num - 1
            self._began = time.monotonic()

    def on_train_step_end(self, run_context: Any) -> None:
        if time.monotonic() - self._shown < self._pause:
            return
        assert self._display is not None
        facts = run_context.original_args()
        self._display.show(step_in_epoch(facts), facts.batch_num, self._text(facts))
        self._shown = time.monotonic()

    def on_train_epoch_end(self, run_context: Any) -> None:
        assert self._display is not None
        facts = run_context.original_args()
        results = facts.get("eval_results") or {}
        metrics = [f"{name} {_short(value)}" for name, value in results.items()]
        self._display.close(" | ".join([self._text(facts), *metrics]))

    def _text(self, facts: Any) -> str:
        parts = [
            f"epoch {facts.cur_epoch_num}/{facts.epoch_num}",
            f"step {step_in_epoch(facts)}/{facts.batch_num}",
            f"loss {_short(loss_of(facts.get('net_outputs')))}",
        ]
        done = facts.cur_step_num - (self._first or 0)
        spent = time.monotonic() - self._began
        if done and spent:
            left = (facts.epoch_num - facts.cur_epoch_num + 1) * facts.batch_num
            left = max(left - step_in_epoch(facts), 0)
            parts += [self._speed(facts, done / spent), f"{_duration(left * spent / done)} left"]
        return " | ".join(parts)

    def _speed(self, facts: Any, steps: float) -> str:
        if self._unit == "samples":
            first = facts.train_dataset_element[0]
            return f"{steps * first.shape[0]:,.0f} samples/s"
        return f"{steps:,.1f} steps/s"


def _short(value: Any) -> str:
    if isinstance(value, Tensor):
        value = np.mean(value.asnumpy())
    return f"{value:.4g}" if isinstance(value, (float, int, np.number)) else str(value)


def _duration(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}" if hour else f"{minute}:{second:02}"
