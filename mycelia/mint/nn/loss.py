"""Loss layers."""

from __future__ import annotations

from typing import Any

from mycelia.mint.nn import functional as F
from mycelia.nn.cell import Cell


class _MintLoss(Cell):
    """Base class of the losses: the reduction over elements."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction


class L1Loss(_MintLoss):
    """Absolute error (L1 loss), averaged by default."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return F.l1_loss(logits, labels, self.reduction)


class MSELoss(_MintLoss):
    """Squared error (MSE loss), averaged by default."""

    def construct(self, input: Any, target: Any) -> Any:
        return F.mse_loss(input, target, self.reduction)


class SmoothL1Loss(_MintLoss):
    """Smooth L1 loss: error² / (2 * beta) for errors below `beta`, else linear."""

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def construct(self, input: Any, target: Any) -> Any:
        return F.smooth_l1_loss(input, target, self.reduction, self.beta)


class KLDivLoss(_MintLoss):
    """Kullback-Leibler divergence of log-probabilities from (log-)probabilities."""

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def construct(self, input: Any, target: Any) -> Any:
        return F.kl_div(input, target, self.reduction, self.log_target)


class CosineEmbeddingLoss(_MintLoss):
    """Cosine loss: attracts pairs with target 1 and repels pairs with target -1 up to `margin`."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Any, input2: Any, target: Any) -> Any:
        return F.cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


class BCELoss(_MintLoss):
    """Binary cross entropy of probabilities and labels from 0 to 1."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, input: Any, target: Any) -> Any:
        return F.binary_cross_entropy(input, target, self.weight, self.reduction)


class BCEWithLogitsLoss(_MintLoss):
    """Binary cross entropy of logits, with an optional extra weight of positive examples."""

    def __init__(self, weight: Any = None, reduction: str = "mean", pos_weight: Any = None) -> None:
        super().__init__(reduction)
        self.weight = weight
        self.pos_weight = pos_weight

    def construct(self, input: Any, target: Any) -> Any:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, self.reduction, self.pos_weight
        )


class NLLLoss(_MintLoss):
    """Negative log-likelihood of class indices under log-probabilities."""

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.weight = weight
        self.ignore_index = ignore_index

    def construct(self, input: Any, target: Any) -> Any:
        return F.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class CrossEntropyLoss(_MintLoss):
    """Cross entropy of logits and class indices or class probabilities."""

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(reduction)
        self.weight = weight
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def construct(self, input: Any, target: Any) -> Any:
        return F.cross_entropy(
            input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )
