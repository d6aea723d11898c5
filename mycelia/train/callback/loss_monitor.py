"""The LossMonitor callback: print the loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_non_negative_int
from mycelia._engine.core.errors import problem
from mycelia.train.callback.callback import Callback, loss_of, step_in_epoch


class LossMonitor(Callback):
    """Prints the loss every `per_print_times` steps (0: never), and metrics after each epoch.

    A loss that is not finite stops training with a ValueError.
    """

    only_reads_results = True

    def __init__(self, per_print_times: int = 1) -> None:
        super().__init__()
        self._per_print_times = check_non_negative_int(
            "LossMonitor", "per_print_times", per_print_times
        )
        self._last_print_time = 0

    def step_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        epoch, step = facts.get("cur_epoch_num", 1), step_in_epoch(facts)
        loss = loss_of(facts.net_outputs)
        if isinstance(loss, float) and not np.isfinite(loss):
            raise problem(
                ValueError,
                f"LossMonitor: the loss is not finite in epoch {epoch}, step {step}",
                got=f"a loss of {loss}",
                fix="try a smaller learning rate, or look for non-finite values in the data",
            )
        if self._is_due(facts.cur_step_num):
            self._last_print_time = facts.cur_step_num
            print(f"epoch: {epoch} step: {step}, loss is {loss}", flush=True)

    def state(self) -> dict[str, Any]:
        return {"last_print": self._last_print_time}

    def restore(self, state: dict[str, Any]) -> None:
        self._last_print_time = state["last_print"]

    def on_train_epoch_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        metrics = facts.get("metrics")
        if metrics:
            print(f"Eval result: epoch {facts.cur_epoch_num}, metrics: {metrics}")

    def _is_due(self, step: int) -> bool:
        """Whether to print now; the count restarts when another run starts."""
        every = self._per_print_times
        if every == 0:
            return False
        if step <= self._last_print_time:
            self._last_print_time -= -(-(self._last_print_time - step + 1) // every) * every
        return step - self._last_print_time >= every
