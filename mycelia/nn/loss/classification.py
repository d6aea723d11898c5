"""Classification losses: cross entropy, NLL, and KL divergence."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool, check_int, check_range
from mycelia.nn.loss.base import (
    LossBase,
    check_optional_tensor,
    check_real_float,
    check_tensor,
)
from mycelia.ops.loss.classification import SoftmaxCrossEntropyWithLogits as SoftmaxCrossEntropy
from mycelia.ops.loss.classification import (
    SparseSoftmaxCrossEntropyWithLogits as SparseSoftmaxCrossEntropy,
)
from mycelia.ops.loss.cross_entropy import cross_entropy, nll_loss
from mycelia.ops.loss.regression import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    kl_div,
)
from mycelia.ops.shapes.creation import one_hot
from mycelia.ops.shapes.reshape import cast


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Softmax cross entropy; `labels` are distributions, or class indices if `sparse`."""

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.sparse = check_bool("SoftmaxCrossEntropyWithLogits", "sparse", sparse)
        self.softmax_cross_entropy = SoftmaxCrossEntropy()
        self.sparse_softmax_cross_entropy = SparseSoftmaxCrossEntropy()

    def construct(self, logits: Any, labels: Any) -> Any:
        check_tensor("SoftmaxCrossEntropyWithLogits", "logits", logits)
        check_tensor("SoftmaxCrossEntropyWithLogits", "labels", labels)
        if self.sparse:
            if self.reduction == "mean":
                return self.sparse_softmax_cross_entropy(logits, labels)
            labels = cast(one_hot(labels, logits.shape[-1]), logits.dtype)
        losses, _ = self.softmax_cross_entropy(logits, labels)
        return self.get_loss(losses)


class CrossEntropyLoss(LossBase):
    """Softmax cross entropy over axis 1; `labels` are class indices or distributions."""

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(reduction)
        check_optional_tensor("CrossEntropyLoss", "weight", weight)
        check_real_float("CrossEntropyLoss", "label_smoothing", label_smoothing)
        self.weight = weight
        self.ignore_index = check_int("CrossEntropyLoss", "ignore_index", ignore_index)
        self.label_smoothing = check_range(
            "CrossEntropyLoss", "label_smoothing", label_smoothing, 0.0, 1.0
        )

    def construct(self, logits: Any, labels: Any) -> Any:
        check_tensor("CrossEntropyLoss", "logits", logits)
        check_tensor("CrossEntropyLoss", "labels", labels)
        return cross_entropy(
            logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class NLLLoss(LossBase):
    """Negative log-likelihood of the classes `labels` given log-probabilities (axis 1)."""

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        check_optional_tensor("NLLLoss", "weight", weight)
        self.weight = weight
        self.ignore_index = check_int("NLLLoss", "ignore_index", ignore_index)

    def construct(self, logits: Any, labels: Any) -> Any:
        check_tensor("NLLLoss", "logits", logits)
        check_tensor("NLLLoss", "labels", labels)
        return nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class BCELoss(LossBase):
    """Binary cross entropy of probabilities `logits` with target probabilities `labels`."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Any, labels: Any) -> Any:
        return binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """Binary cross entropy of sigmoid(input) with target probabilities `target`."""

    def __init__(self, reduction: str = "mean", weight: Any = None, pos_weight: Any = None) -> None:
        super().__init__(reduction)
        self.weight = weight
        self.pos_weight = pos_weight

    def construct(self, input: Any, target: Any) -> Any:
        return binary_cross_entropy_with_logits(
            input, target, self.weight, self.pos_weight, self.reduction
        )


class KLDivLoss(LossBase):
    """Kullback-Leibler divergence; `logits` are log-probabilities, `labels` probabilities.

    The reduction `batchmean` is also available: the sum divided by the batch size.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__("mean" if reduction == "batchmean" else reduction)
        self.reduction = reduction

    def construct(self, logits: Any, labels: Any) -> Any:
        check_tensor("KLDivLoss", "logits", logits)
        check_tensor("KLDivLoss", "labels", labels)
        return kl_div(logits, labels, self.reduction)
