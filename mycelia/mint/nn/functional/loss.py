"""Loss functions, with PyTorch's argument order."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import check_bool, check_string
from mycelia._engine.core.errors import wrong_value

_REDUCTIONS = ("none", "mean", "sum")


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    """Binary cross entropy of probabilities and labels from 0 to 1."""
    return ops.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """Binary cross entropy of logits, with weights and an extra weight of positive examples."""
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """Kullback-Leibler divergence: target * (log(target) - input) for log-probabilities `input`.

    With `log_target`, the target is a log-probability, too.
    """
    check_string("kl_div", "reduction", reduction, (*_REDUCTIONS, "batchmean"))
    if check_bool("kl_div", "log_target", log_target):
        each = ops.mul(ops.exp(target), ops.sub(target, input))
    else:
        each = ops.sub(ops.xlogy(target, target), ops.mul(target, input))
    if reduction == "batchmean":
        return ops.div(ops.sum(each), input.shape[0])
    return _reduced(each, reduction)


def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """Smooth L1 loss: error² / (2 * beta) for errors below `beta`, else linear."""
    if beta < 0:
        raise wrong_value("smooth_l1_loss", "beta", beta, "at least 0")
    if beta == 0:
        return ops.l1_loss(input, target, reduction)
    return ops.smooth_l1_loss(input, target, float(beta), reduction)


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """Negative log-likelihood of class indices under log-probabilities."""
    return ops.nll_loss(input, target, weight, ignore_index, reduction)


def _reduced(each: Any, reduction: str) -> Any:
    if reduction == "none":
        return each
    return ops.mean(each) if reduction == "mean" else ops.sum(each)
