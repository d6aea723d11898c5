"""The CTC loss for label sequences without alignment."""

from __future__ import annotations

from typing import Any

from mycelia.nn.loss.base import LossBase
from mycelia.ops.loss.regression import ctc_loss


class CTCLoss(LossBase):
    """Connectionist temporal classification: negative log-likelihood of label sequences."""

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def construct(
        self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any
    ) -> Any:
        loss, _ = ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
        return loss
