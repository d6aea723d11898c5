"""The evaluation loop: runs the network on each batch and updates the metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.train.callback.callback import CallbackList, CallbackParameters, RunContext
from mycelia.train.callback.history import History
from mycelia.train.callback.learning_rate_scheduler import LearningRateScheduler
from mycelia.train.callback.loss_monitor import LossMonitor
from mycelia.train.callback.model_checkpoint import ModelCheckpoint
from mycelia.train.dataset_helper import DatasetHelper, size_of
from mycelia.train.metrics import Loss
from mycelia.train.metrics.metric import plain

_FOR_TRAINING = (LossMonitor, History, ModelCheckpoint, LearningRateScheduler)
_OF_TRAINING = ("cur_step_num", "batch_num", "net_outputs", "mode")


@dataclass(frozen=True)
class EvaluationLoop:
    """A network and its metrics; `indices` of loss, output, and label in the network's result."""

    network: Cell
    metrics: dict[str, Any]
    indices: list[int] | None
    has_loss: bool

    def run(
        self,
        dataset: Any,
        callbacks: CallbackList,
        facts: CallbackParameters,
        *,
        in_fit: bool = False,
    ) -> dict[str, Any]:
        """The values of the metrics by name."""
        facts.update(
            eval_network=self.network,
            valid_dataset=dataset,
            batch_num=size_of(dataset),
            mode="eval",
            cur_step_num=0,
        )
        set_training(self.network, False)
        for metric in self.metrics.values():
            metric.clear()
        context = RunContext(facts)
        callbacks.tell("on_eval_begin", context)
        callbacks.tell("on_eval_epoch_begin", context)
        for inputs in DatasetHelper(dataset, False):
            facts.cur_step_num += 1
            facts.eval_dataset_element = inputs
            callbacks.tell("on_eval_step_begin", context)
            facts.net_outputs = self.network(*inputs)
            callbacks.tell("on_eval_step_end", context)
            self.update(facts.net_outputs, self.metrics.values())
            if context.get_stop_requested():
                break
        callbacks.tell("on_eval_epoch_end", context)
        facts.metrics = {name: plain(metric.eval()) for name, metric in self.metrics.items()}
        if in_fit:
            facts.eval_results = facts.metrics | self._loss(facts.net_outputs)
        callbacks.tell("on_eval_end", context)
        return facts.metrics

    def run_in_fit(self, dataset: Any, facts: CallbackParameters) -> None:
        """Evaluate between epochs; restores the training entries of `facts` afterwards."""
        training_facts = {name: facts.get(name) for name in _OF_TRAINING}
        callbacks = CallbackList([c for c in facts.list_callback if type(c) not in _FOR_TRAINING])
        self.run(dataset, callbacks, facts, in_fit=True)
        facts.update(training_facts)

    def update(self, outputs: Any, metrics: Iterable[Any]) -> None:
        """Update metrics with the outputs for a batch."""
        values = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        if self.indices is None:
            for metric in metrics:
                metric.update(*values)
            return
        if len(values) < 3:
            raise problem(
                ValueError,
                "Model: eval_indexes needs more outputs than the eval_network returns",
                got=str(len(values)),
                expected="3 or more, including a loss, an output, and a label",
            )
        loss, output, label = (values[index] for index in self.indices)
        for metric in metrics:
            metric.update(*([loss] if isinstance(metric, Loss) else [output, label]))

    def _loss(self, outputs: Any) -> dict[str, float]:
        """The loss of the last batch, for callbacks that monitor it."""
        if not self.has_loss or self.indices is None:
            return {}
        return {"eval_loss": float(np.mean(outputs[self.indices[0]].asnumpy()))}


def set_training(network: Cell, is_training: bool) -> None:
    """Switch a network between training and inference, unless it is already switched."""
    if any(cell.training is not is_training for _, cell in network.cells_and_names()):
        network.set_train(is_training)
