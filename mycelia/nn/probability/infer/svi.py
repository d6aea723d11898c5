"""Stochastic variational inference: trains a network with a variational loss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mycelia._engine.core.checks import check_instance, check_positive_int
from mycelia.nn.cell import Cell
from mycelia.nn.wrap.cell_wrapper import TrainOneStepCell


class SVI:
    """Trains `net_with_loss` with `optimizer` on a dataset."""

    def __init__(self, net_with_loss: Cell, optimizer: Cell) -> None:
        self.net_with_loss = check_instance("SVI", "net_with_loss", net_with_loss, Cell)
        self.optimizer = check_instance("SVI", "optimizer", optimizer, Cell)
        self._loss = 0.0

    def run(self, train_dataset: Any, epochs: int = 10) -> Cell:
        """Train for some epochs; returns the trained network with its loss."""
        check_positive_int("SVI", "epochs", epochs)
        step = TrainOneStepCell(self.net_with_loss, self.optimizer)
        step.set_train()
        for _ in range(epochs):
            losses = [step(*columns) for columns in _batches(train_dataset)]
            self._loss = sum(float(loss) for loss in losses) / max(len(losses), 1)
        return self.net_with_loss

    def get_train_loss(self) -> float:
        """The mean loss of the last epoch."""
        return self._loss


def _batches(dataset: Any) -> Iterable[Any]:
    """The columns of each batch of a dataset, or of an iterable of tuples."""
    if hasattr(dataset, "create_tuple_iterator"):
        return dataset.create_tuple_iterator(num_epochs=1)
    return dataset
