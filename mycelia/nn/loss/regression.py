"""Regression losses: distances between predicted and true values."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.dtype import promote
from mycelia._engine.core.errors import problem
from mycelia.nn.loss.base import LossBase, check_real_float, check_tensor
from mycelia.ops.elementwise.arithmetic import maximum
from mycelia.ops.elementwise.comparison import greater
from mycelia.ops.elementwise.exponential import exp, log, sqrt
from mycelia.ops.elementwise.where import select
from mycelia.ops.loss.regression import (
    gaussian_nll_loss,
    huber_loss,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)
from mycelia.ops.shapes.reshape import cast


class L1Loss(LossBase):
    """Absolute error, |logits - labels|."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return l1_loss(logits, labels, self.reduction)


class MSELoss(LossBase):
    """Squared error, (logits - labels)^2."""

    def construct(self, logits: Any, labels: Any) -> Any:
        loss = mse_loss(logits, labels, self.reduction)
        dtype = promote(logits.dtype, labels.dtype)
        return loss if dtype.is_inexact else cast(loss, dtype)


class RMSELoss(LossBase):
    """Root mean square error of logits and label."""

    def __init__(self) -> None:
        super().__init__()
        self.MSELoss = MSELoss()

    def construct(self, logits: Any, label: Any) -> Any:
        return sqrt(self.MSELoss(logits, label))


class MAELoss(LossBase):
    """Absolute error, |logits - label|; the same as the L1 loss."""

    def construct(self, logits: Any, label: Any) -> Any:
        return l1_loss(logits, label, self.reduction)


class SmoothL1Loss(LossBase):
    """Smooth L1 loss: quadratic where |logits - labels| < beta, linear beyond."""

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.beta = beta

    def construct(self, logits: Any, labels: Any) -> Any:
        return smooth_l1_loss(logits, labels, self.beta, self.reduction)


class HuberLoss(LossBase):
    """Huber loss: half the square where |logits - labels| <= delta, linear beyond."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits: Any, labels: Any) -> Any:
        return huber_loss(logits, labels, self.reduction, self.delta)


class PoissonNLLLoss(LossBase):
    """Negative log-likelihood of counts `target` under Poisson rates `input`.

    With `log_input`, the input is the logarithm of the rate; `full` adds Stirling's approximation
    of the term that does not depend on the input.
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
            loss = loss + _log_factorial(target)
        return self.get_loss(loss)


class GaussianNLLLoss(LossBase):
    """Negative log-likelihood of `labels` under normal distributions with mean `logits`."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = check_bool("GaussianNLLLoss", "full", full)
        self.eps = check_real_float("GaussianNLLLoss", "eps", eps)
        if eps <= 0:
            raise problem(ValueError, "For 'GaussianNLLLoss', the 'eps' must be > 0", got=repr(eps))

    def construct(self, logits: Any, labels: Any, var: Any) -> Any:
        return gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


def _log_factorial(count: Any) -> Any:
    """Stirling's approximation of log(count!); 0 for counts up to 1."""
    large = maximum(count, 1.0)
    value = large * log(large) - large + log(large * (2 * math.pi)) * 0.5
    return select(greater(count, 1.0), value, 0.0)
