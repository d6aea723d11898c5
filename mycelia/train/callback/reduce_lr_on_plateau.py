"""The ReduceLROnPlateau callback: lower the learning rate when a metric stops improving."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_instance, check_non_negative_int, check_range
from mycelia._engine.core.dtype import float32
from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.learning_rate_scheduler import fixed_rate
from mycelia.train.callback.monitored_value import MonitorCallback

_OWNER = "ReduceLROnPlateau"


class ReduceLROnPlateau(MonitorCallback):
    """Multiplies the learning rate by `factor` when `monitor` stops improving.

    It acts after `patience` epochs without improvement. Counting restarts `cooldown` epochs later,
    at the earliest with the next one. The rate never falls below `min_lr`.
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 0.0001,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__(monitor, min_delta, patience, verbose, mode)
        check_instance(_OWNER, "factor", factor, float)
        self.factor = check_range(_OWNER, "factor", factor, 0.0, 1.0, closed="none")
        self.cooldown = check_non_negative_int(_OWNER, "cooldown", cooldown)
        self.min_lr = check_instance(_OWNER, "min_lr", min_lr, (float, int))

    def on_train_epoch_end(self, run_context: Any) -> None:
        fixed_rate(_OWNER, run_context.original_args().optimizer)
        super().on_train_epoch_end(run_context)

    def _judge(self, run_context: Any, value: float, is_best: bool) -> None:
        if is_best:
            self._restart_wait()
        elif self.wait >= max(self.patience, 1):
            self._lower_rate(run_context.original_args())
            self._restart_wait(rest=max(self.cooldown - 1, 0))

    def _lower_rate(self, facts: Any) -> None:
        rate = fixed_rate(_OWNER, facts.optimizer)
        current = np.float32(rate.asnumpy())
        if current <= self.min_lr:
            return
        lowered = max(current * np.float32(self.factor), self.min_lr)
        rate.set_data(Tensor(lowered, float32))
        if self.verbose:
            print(
                f"epoch: {facts.cur_epoch_num}, {_OWNER} lowered the learning rate to {lowered!s}"
            )
