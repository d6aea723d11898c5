"""The loss of a network with Bayesian layers: the loss and the KL divergence."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_instance, check_non_negative_float
from mycelia.nn.cell import Cell


class WithBNNLossCell(Cell):
    """dnn_factor * loss + bnn_factor * the KL divergences of all Bayesian layers."""

    def __init__(
        self, backbone: Cell, loss_fn: Any, dnn_factor: float = 1, bnn_factor: float = 1
    ) -> None:
        super().__init__(auto_prefix=False)
        for argument, value in (("dnn_factor", dnn_factor), ("bnn_factor", bnn_factor)):
            check_non_negative_float("WithBNNLossCell", argument, value)
        self._backbone = check_instance("WithBNNLossCell", "backbone", backbone, Cell)
        self._loss_fn = loss_fn
        self.dnn_factor = dnn_factor
        self.bnn_factor = bnn_factor

    def construct(self, x: Any, label: Any) -> Any:
        loss = self._loss_fn(self._backbone(x), label) * self.dnn_factor
        for layer in _bayesian(self._backbone):
            loss = loss + self.bnn_factor * layer.compute_kl_loss()
        return loss

    @property
    def backbone_network(self) -> Cell:
        return self._backbone


def _bayesian(network: Cell) -> list[Any]:
    """The sub-cells that have a KL divergence, including custom ones."""
    found = [cell for _, cell in network.cells_and_names()]
    return [c for c in found if hasattr(c, "compute_kl_loss")]
