"""The TimeMonitor callback: print how long epochs take."""

from __future__ import annotations

import time
from typing import Any

from mycelia._engine.core.checks import check_bool, check_positive_int
from mycelia.train.callback.callback import Callback


class TimeMonitor(Callback):
    """Prints the time of each epoch and the time per step, in milliseconds.

    `data_size` is the number of steps, for runs that do not know it. With `data_time`, the line
    also reports how long each step waited for data.
    """

    only_reads_results = True

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        super().__init__()
        self.data_size = data_size
        self.data_time = check_bool("TimeMonitor", "data_time", data_time)
        self.epoch_time = time.time()
        self.data_time_start = 0.0
        self.data_time_sum = 0.0

    def epoch_begin(self, run_context: Any) -> None:
        self.epoch_time = self.data_time_start = time.time()
        self.data_time_sum = 0.0

    def on_train_step_begin(self, run_context: Any) -> None:
        self.data_time_sum += time.time() - self.data_time_start

    def on_train_step_end(self, run_context: Any) -> None:
        self.data_time_start = time.time()

    def epoch_end(self, run_context: Any) -> None:
        spent = (time.time() - self.epoch_time) * 1000
        facts = run_context.original_args()
        step_count = facts.get("batch_num") or self.data_size
        steps = check_positive_int("TimeMonitor", "data_size", step_count)
        line = (
            f"{facts.get('mode', '').title()} epoch time: {spent:5.3f} ms, "
            f"per step time: {spent / steps:5.3f} ms"
        )
        if self.data_time:
            line += f" (data time: {self.data_time_sum * 1000 / steps:5.3f} ms)"
        print(line, flush=True)
