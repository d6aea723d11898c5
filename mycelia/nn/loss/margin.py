"""Margin losses: the score of the right class should exceed others by a margin."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import wrong_value
from mycelia.nn.loss.base import LossBase, check_optional_tensor, check_real_float, check_tensor
from mycelia.ops.loss.margin import MultiMarginLoss as MultiMargin
from mycelia.ops.loss.margin import (
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
)


class SoftMarginLoss(LossBase):
    """Soft margin loss: log(1 + exp(-labels * logits)) for labels 1 and -1."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return soft_margin_loss(logits, labels, self.reduction)


class MultiMarginLoss(LossBase):
    """Multi-class margin loss: mean of max(0, margin - x[target] + x[class])^p over classes."""

    def __init__(
        self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Any = None
    ) -> None:
        super().__init__(reduction)
        self.p = check_int("MultiMarginLoss", "p", p)
        if p not in (1, 2):
            raise wrong_value("MultiMarginLoss", "p", p, "int and must in {1, 2}")
        self.margin = check_real_float("MultiMarginLoss", "margin", margin)
        self.multi_margin_loss = MultiMargin(p, margin, reduction)
        self.weight = weight

    def construct(self, x: Any, target: Any, weight: Any = None) -> Any:
        check_tensor("MultiMarginLoss", "x", x)
        check_tensor("MultiMarginLoss", "target", target)
        weight = self.weight if weight is None else weight
        check_optional_tensor("MultiMarginLoss", "weight", weight)
        return self.multi_margin_loss(x, target, weight)


class MultilabelMarginLoss(LossBase):
    """Multi-label hinge loss; `target` lists the classes of each sample, terminated by -1."""

    def construct(self, x: Any, target: Any) -> Any:
        return multilabel_margin_loss(x, target, self.reduction)


class MultiLabelSoftMarginLoss(LossBase):
    """Multi-label cross entropy of sigmoid(x) with 0/1 labels, averaged over classes."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Any, target: Any) -> Any:
        return multilabel_soft_margin_loss(x, target, self.weight, self.reduction)
