"""A callback that reports a monitored value to a trial."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_instance
from mycelia.train.callback.monitored_value import MonitorCallback
from mycelia.tune.trial import Trial


class ReportToTrial(MonitorCallback):
    """Reports `monitor` to a trial after every epoch, so that hopeless trials are stopped.

    `monitor` is "loss", "eval_loss", or the name of a metric.
    """

    def __init__(self, trial: Trial, monitor: str = "loss") -> None:
        super().__init__(monitor, min_delta=0, patience=0, verbose=False, mode="auto")
        self.trial = check_instance("ReportToTrial", "trial", trial, Trial)

    def _judge(self, run_context: Any, value: float, is_best: bool) -> None:
        self.trial.report(run_context.original_args().cur_epoch_num, value)
