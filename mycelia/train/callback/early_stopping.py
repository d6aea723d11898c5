"""The EarlyStopping callback: stop training when a metric no longer improves."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool, check_instance
from mycelia.tensor.parameter import Parameter
from mycelia.train.callback.monitored_value import MonitorCallback
from mycelia.train.checkpoint import load_param_into_net


class EarlyStopping(MonitorCallback):
    """Stops training when `monitor` has not improved for `patience` epochs.

    With `baseline`, an epoch counts as an improvement only if it is better than the baseline.
    `restore_best_weights` restores the parameters of the best epoch.
    """

    _kept = (*MonitorCallback._kept, "stopped_epoch", "_best_parameters")

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        owner = "EarlyStopping"
        super().__init__(monitor, min_delta, patience, verbose, mode)
        kinds = (float, int, type(None))
        self.baseline = check_instance(owner, "baseline", baseline, kinds)
        self.restore_best_weights = check_bool(owner, "restore_best_weights", restore_best_weights)

    def on_train_end(self, run_context: Any) -> None:
        if self.stopped_epoch:
            self._tell("stopped training")

    def _reset(self) -> None:
        super()._reset()
        self.stopped_epoch = 0
        self._best_parameters: dict[str, Parameter] = {}

    def _judge(self, run_context: Any, value: float, is_best: bool) -> None:
        facts = run_context.original_args()
        if self.restore_best_weights and (is_best or not self._best_parameters):
            self._best_parameters = _copies(facts.train_network)
        if is_best and self._passes_baseline(value):
            self._restart_wait()
        if self.wait < self.patience:
            return
        self.stopped_epoch = facts.cur_epoch_num
        run_context.request_stop()
        if self._best_parameters:
            load_param_into_net(facts.train_network, self._best_parameters)
            self._tell("restored the parameters of the best epoch")

    def _passes_baseline(self, value: float) -> bool:
        return self.baseline is None or self._is_better(value, self.baseline)

    def _tell(self, what: str) -> None:
        if self.verbose:
            print(f"epoch: {self.stopped_epoch}, EarlyStopping {what}")


def _copies(network: Any) -> dict[str, Parameter]:
    return {
        name: Parameter(parameter.copy(), name=name)
        for name, parameter in network.parameters_dict().items()
    }
