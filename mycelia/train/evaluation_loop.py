"""The course of an evaluation: the metrics are told what the network gives for each batch."""

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
    """A network and metrics; `places` are those of loss, output and label in what it gives."""

    network: Cell
    metrics: dict[str, Any]
    places: list[int] | None
    tells_loss: bool

    def run(
        self, dataset: Any, told: CallbackList, facts: CallbackParameters, *, in_fit: bool = False
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
        told.tell("on_eval_begin", context)
        told.tell("on_eval_epoch_begin", context)
        for inputs in DatasetHelper(dataset, False):
            facts.cur_step_num += 1
            facts.eval_dataset_element = inputs
            told.tell("on_eval_step_begin", context)
            facts.net_outputs = self.network(*inputs)
            told.tell("on_eval_step_end", context)
            self.update(facts.net_outputs, self.metrics.values())
            if context.get_stop_requested():
                break
        told.tell("on_eval_epoch_end", context)
        facts.metrics = {name: plain(metric.eval()) for name, metric in self.metrics.items()}
        if in_fit:
            facts.eval_results = facts.metrics | self._loss(facts.net_outputs)
        told.tell("on_eval_end", context)
        return facts.metrics

    def run_in_fit(self, dataset: Any, facts: CallbackParameters) -> None:
        """Evaluate between epochs; what the facts say of the training stays."""
        kept = {name: facts.get(name) for name in _OF_TRAINING}
        told = CallbackList([c for c in facts.list_callback if type(c) not in _FOR_TRAINING])
        self.run(dataset, told, facts, in_fit=True)
        facts.update(kept)

    def update(self, outputs: Any, metrics: Iterable[Any]) -> None:
        """Let metrics know what the network gave for a batch."""
        given = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        if self.places is None:
            for metric in metrics:
                metric.update(*given)
            return
        if len(given) < 3:
            raise problem(
                ValueError,
                "Model: eval_indexes needs more outputs than the eval_network gives",
                got=str(len(given)),
                expected="3 or more: a loss, an output and a label among them",
            )
        loss, output, label = (given[place] for place in self.places)
        for metric in metrics:
            metric.update(*([loss] if isinstance(metric, Loss) else [output, label]))

    def _loss(self, outputs: Any) -> dict[str, float]:
        """The loss of the last batch, for callbacks that watch it."""
        if not self.tells_loss or self.places is None:
            return {}
        return {"eval_loss": float(np.mean(outputs[self.places[0]].asnumpy()))}


def set_training(network: Cell, is_training: bool) -> None:
    """Switch a network between training and inference, unless all of it is there already."""
    if any(cell.training is not is_training for _, cell in network.cells_and_names()):
        network.set_train(is_training)
