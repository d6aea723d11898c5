"""The focal loss: cross entropy that focuses on hard examples."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import int32
from mycelia._engine.core.errors import problem
from mycelia.nn.layer.activation import LogSoftmax
from mycelia.nn.loss.base import LossBase, check_optional_tensor, check_real_float
from mycelia.ops.elementwise.exponential import exp
from mycelia.ops.elementwise.power import pow
from mycelia.ops.indexing.gather import gather_d
from mycelia.ops.reduction.reduction import mean
from mycelia.ops.shapes.reshape import broadcast_to, cast, reshape, squeeze


class FocalLoss(LossBase):
    """Focal loss, which down-weights well-classified examples: -(1 - p)^gamma log p.

    From "Focal Loss for Dense Object Detection". `labels` are class indices, with one channel on
    axis 1, or one-hot with as many channels as `logits`.
    """

    def __init__(self, weight: Any = None, gamma: float = 2.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        check_optional_tensor("FocalLoss", "weight", weight)
        if weight is not None and weight.ndim != 1:
            raise problem(
                ValueError,
                "For 'FocalLoss', the dimension of 'weight' must be 1",
                got=f"shape {weight.shape}",
            )
        self.gamma = check_real_float("FocalLoss", "gamma", gamma)
        self.weight = weight
        self.logsoftmax = LogSoftmax(1)

    def construct(self, logits: Any, labels: Any) -> Any:
        _check(logits, labels)
        batch, classes = logits.shape[:2]
        logs = self.logsoftmax(reshape(logits, (batch, classes, -1)))
        labels = reshape(labels, (*labels.shape[:2], -1))
        sparse = labels.shape[1] == 1
        if sparse:
            labels = cast(labels, int32)
            chosen = gather_d(logs, 1, labels)
            losses = self._focused(chosen)
        else:
            losses = self._focused(logs) * cast(labels, logs.dtype)
        if self.weight is not None:
            weights = reshape(cast(self.weight, logs.dtype), (1, classes, 1))
            weights = broadcast_to(weights, logs.shape)
            losses = losses * (gather_d(weights, 1, labels) if sparse else weights)
        losses = mean(losses, -1)
        return self.get_loss(squeeze(losses, 1) if sparse else losses)

    def _focused(self, logs: Any) -> Any:
        return pow(1.0 - exp(logs), self.gamma) * logs * -1.0


def _check(logits: Any, labels: Any) -> None:
    for argument, value in (("logits", logits), ("labels", labels)):
        if not 2 <= value.ndim <= 4:
            raise problem(
                ValueError,
                f"For 'FocalLoss', the dimensions of '{argument}' must be in [2, 4]",
                got=f"shape {value.shape}",
            )
    if labels.shape[1] not in (1, logits.shape[1]):
        raise problem(
            ValueError,
            "For 'FocalLoss', the 'labels' must have one channel or as many as the 'logits'",
            got=f"labels {labels.shape}, logits {logits.shape}",
        )
    fits = labels.shape[0] == logits.shape[0] or labels.shape[:2] == (1, 1)
    if not fits or labels.shape[2:] != logits.shape[2:]:
        raise problem(
            ValueError,
            "For 'FocalLoss', 'labels' and 'logits' differ in more than their channels",
            got=f"labels {labels.shape}, logits {logits.shape}",
        )
