"""Losses between numbers and the numbers they should be."""

from __future__ import annotations

from typing import Any

from mycelia.core.checks import check_bool
from mycelia.core.errors import problem
from mycelia.nn.loss.base import LossBase, check_real_float, check_tensor
from mycelia.ops.arithmetic import abs, square, sub
from mycelia.ops.loss import SmoothL1Loss as SmoothL1
from mycelia.ops.loss_functions import gaussian_nll_loss, huber_loss, l1_loss
from mycelia.ops.shaping import cast
from mycelia.ops.transcendental import exp, log, sqrt


class L1Loss(LossBase):
    """|logits - labels|."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return l1_loss(logits, labels, self.reduction)


class MSELoss(LossBase):
    """(logits - labels) squared."""

    def construct(self, logits: Any, labels: Any) -> Any:
        check_tensor("MSELoss", "logits", logits)
        check_tensor("MSELoss", "labels", labels)
        return self.get_loss(square(sub(logits, labels)))


class RMSELoss(LossBase):
    """The root of the mean of (logits - label) squared."""

    def __init__(self) -> None:
        super().__init__()
        self.MSELoss = MSELoss()

    def construct(self, logits: Any, label: Any) -> Any:
        return sqrt(self.MSELoss(logits, label))


class MAELoss(LossBase):
    """|logits - label|; another name for the L1 loss."""

    def construct(self, logits: Any, label: Any) -> Any:
        check_tensor("MAELoss", "logits", logits)
        check_tensor("MAELoss", "label", label)
        return self.get_loss(abs(sub(logits, label)))


class SmoothL1Loss(LossBase):
    """Quadratic where |logits - labels| < beta, linear beyond."""

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.beta = beta
        self.smooth_l1_loss = SmoothL1(beta, reduction)

    def construct(self, logits: Any, labels: Any) -> Any:
        return self.smooth_l1_loss(logits, labels)


class HuberLoss(LossBase):
    """Half the square where |logits - labels| <= delta, linear beyond."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits: Any, labels: Any) -> Any:
        return huber_loss(logits, labels, self.reduction, self.delta)


class PoissonNLLLoss(LossBase):
    """The negative log-likelihood of counts `target` under Poisson rates `input`.

    With `log_input` the input is the logarithm of the rate; `full` adds Stirling's approximation of
    the term that does not depend on the input.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def construct(self, input: Any, target: Any) -> Any:
        check_tensor("PoissonNLLLoss", "input", input)
        check_tensor("PoissonNLLLoss", "target", target)
        target = cast(target, input.dtype)
        if self.log_input:
            loss = exp(input) - target * input
        else:
            loss = input - target * log(input + self.eps)
        if self.full:
            loss = loss + stirling(target)
        return self.get_loss(loss)


class GaussianNLLLoss(LossBase):
    """The negative log-likelihood of `labels` under normal distributions of mean `logits`."""

    def __init__(
        self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.full = check_bool("GaussianNLLLoss", "full", full)
        self.eps = check_real_float("GaussianNLLLoss", "eps", eps)
        if eps <= 0:
            raise problem(
                ValueError, "For 'GaussianNLLLoss', the 'eps' must be > 0", got=repr(eps)
            )

    def construct(self, logits: Any, labels: Any, var: Any) -> Any:
        return gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)
