"""Embedding losses: distances between vectors that should be close or far apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.checks import check_bool, check_instance, check_int, check_range
from mycelia._engine.core.errors import problem
from mycelia.nn.loss.base import LossBase, check_real_float, check_tensor
from mycelia.ops.elementwise.arithmetic import maximum, minimum
from mycelia.ops.linalg.norms import LpNorm
from mycelia.ops.loss.margin import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    triplet_margin_loss,
)

_length = LpNorm.of(1)


class CosineEmbeddingLoss(LossBase):
    """Cosine embedding loss, with the cosine taken along axis 1.

    It is 1 - cos(x1, x2) for label 1, and max(0, cos(x1, x2) - margin) for label -1.
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        check_real_float("CosineEmbeddingLoss", "margin", margin)
        self.margin = check_range("CosineEmbeddingLoss", "margin", margin, -1.0, 1.0)

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Any:
        if logits_x1.shape != logits_x2.shape:
            raise problem(
                ValueError,
                "CosineEmbeddingLoss: the inputs have different shapes",
                got=f"{logits_x1.shape} and {logits_x2.shape}",
            )
        return cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class MarginRankingLoss(LossBase):
    """Margin ranking loss: max(0, -target * (input1 - input2) + margin)."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Any, input2: Any, target: Any) -> Any:
        return margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class TripletMarginLoss(LossBase):
    """Triplet loss max(0, d(x, positive) - d(x, negative) + margin), where d is the p-norm."""

    def __init__(
        self,
        p: int = 2,
        swap: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
        margin: float = 1.0,
    ) -> None:
        super().__init__(reduction)
        self.p = check_int("TripletMarginLoss", "p", p)
        self.swap = check_bool("TripletMarginLoss", "swap", swap)
        self.eps = check_real_float("TripletMarginLoss", "eps", eps)
        self.margin = margin

    def construct(self, x: Any, positive: Any, negative: Any, margin: Any = None) -> Any:
        margin = self.margin if margin is None else margin
        return triplet_margin_loss(
            x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction
        )


class TripletMarginWithDistanceLoss(LossBase):
    """Triplet margin loss with a custom distance function; by default the Euclidean distance."""

    def __init__(
        self,
        distance_function: Callable[[Any, Any], Any] | None = None,
        swap: bool = False,
        reduction: str = "mean",
        margin: float = 1.0,
    ) -> None:
        super().__init__(reduction)
        self.swap = check_bool("TripletMarginWithDistanceLoss", "swap", swap)
        self.margin = check_real_float("TripletMarginWithDistanceLoss", "margin", margin)
        if distance_function is None:
            distance_function = _euclidean
        self.distance_function = distance_function

    def construct(self, x: Any, positive: Any, negative: Any) -> Any:
        check_tensor("TripletMarginWithDistanceLoss", "x", x)
        check_tensor("TripletMarginWithDistanceLoss", "positive", positive)
        check_tensor("TripletMarginWithDistanceLoss", "negative", negative)
        to_positive = self.distance_function(x, positive)
        to_negative = self.distance_function(x, negative)
        if self.swap:
            to_negative = minimum(to_negative, self.distance_function(positive, negative))
        return self.get_loss(maximum(to_positive - to_negative + self.margin, 0.0))


class HingeEmbeddingLoss(LossBase):
    """Hinge embedding loss: `logits` for label 1, max(0, margin - logits) for label -1."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = check_instance("HingeEmbeddingLoss", "margin", margin, (float, int))

    def construct(self, logits: Any, labels: Any) -> Any:
        return hinge_embedding_loss(logits, labels, self.margin, self.reduction)


def _euclidean(x: Any, y: Any) -> Any:
    return _length(x - y)
