"""The steps of synchronized batch normalization, for batches split over devices."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import float32
from mycelia._engine.ir.tensor_protocol import check_tensors


def batch_norm_stats(input: Any, eps: float) -> Any:
    """Mean and inverse standard deviation of each channel (axis 1)."""
    check_tensors("batch_norm_stats", input=input)
    variance, mean = ops.var_mean(input, _other_axes(input))
    return mean, ops.rsqrt(ops.add(variance, eps))


def batch_norm_elemt(
    input: Any,
    weight: Any = None,
    bias: Any = None,
    mean: Any = None,
    invstd: Any = None,
    eps: float = 1e-05,
) -> Any:
    """Normalize each channel: (input - mean) * invstd * weight + bias."""
    if mean is None or invstd is None:
        own_mean, own_invstd = batch_norm_stats(input, eps)
        mean = own_mean if mean is None else mean
        invstd = own_invstd if invstd is None else invstd
    shape = (1, -1) + (1,) * (len(input.shape) - 2)
    scale = invstd if weight is None else ops.mul(invstd, weight)
    result = ops.mul(ops.sub(input, ops.reshape(mean, shape)), ops.reshape(scale, shape))
    return result if bias is None else ops.add(result, ops.reshape(bias, shape))


def batch_norm_gather_stats_with_counts(
    input: Any,
    mean: Any,
    invstd: Any,
    running_mean: Any = None,
    running_var: Any = None,
    momentum: float = 0.1,
    eps: float = 1e-05,
    counts: Any = None,
) -> Any:
    """Combine the statistics of the parts of a batch (one row each) and update the running ones.

    `counts` holds the number of elements per channel of each part.
    """
    if counts is None:
        counts = ops.ones((mean.shape[0],), float32)
    shares = ops.reshape(ops.cast(counts, float32), (-1, 1))
    total = ops.sum(shares)
    whole = ops.div(ops.sum(ops.mul(mean, shares), 0), total)
    within = ops.sub(ops.reciprocal(ops.square(invstd)), eps)
    squares = ops.add(within, ops.square(ops.sub(mean, whole)))
    scatter = ops.sum(ops.mul(squares, shares), 0)
    if running_mean is not None:
        running_mean.copy_(_moved(running_mean, whole, momentum))
    if running_var is not None:
        running_var.copy_(_moved(running_var, ops.div(scatter, ops.sub(total, 1)), momentum))
    return whole, ops.rsqrt(ops.add(ops.div(scatter, total), eps))


def _moved(old: Any, new: Any, momentum: float) -> Any:
    return ops.add(ops.mul(old, 1 - momentum), ops.mul(new, momentum))


def _other_axes(input: Any) -> tuple[int, ...]:
    return tuple(i for i in range(len(input.shape)) if i != 1)
