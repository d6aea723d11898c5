"""Batch normalization, vector normalization, and dropout."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import check_bool, check_range
from mycelia._engine.core.errors import problem
from mycelia.mint.batch_statistics import batch_norm_elemt
from mycelia.ops.normalization.batch_and_layer import BatchNorm


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Any:
    """Batch normalization of (N, C, ...); training updates the running statistics."""
    channels = input.shape[1]
    scale = ops.ones((channels,), input.dtype) if weight is None else weight
    offset = ops.zeros((channels,), input.dtype) if bias is None else bias
    if not check_bool("batch_norm", "training", training):
        if running_mean is None or running_var is None:
            raise problem(ValueError, "batch_norm: evaluation needs running_mean and running_var")
        invstd = ops.rsqrt(ops.add(running_var, eps))
        return batch_norm_elemt(input, scale, offset, running_mean, invstd)
    shape = input.shape
    images = input if len(shape) in (2, 4) else ops.reshape(input, (*shape[:2], -1, 1))
    moving = running_mean is not None
    mean = running_mean if moving else ops.zeros((channels,), scale.dtype)
    variance = running_var if moving else ops.ones((channels,), scale.dtype)
    result = BatchNorm.of(True, eps, momentum)(images, scale, offset, mean, variance)[0]
    return result if images is input else ops.reshape(result, shape)


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    """Divide `input` by max(norm, eps), with its p-norm along `dim`."""
    length = ops.vector_norm(input, p, dim, True)
    return ops.div(input, ops.maximum(length, eps))


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout: in training, zero each element with probability `p` and scale up the rest."""
    return _dropped("dropout", ops.dropout, input, p, training, inplace)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Dropout of whole channels, with probability `p`, in training."""
    return _dropped("dropout2d", ops.dropout2d, input, p, training, inplace)


def _dropped(owner: str, drop: Any, input: Any, p: Any, training: Any, inplace: Any) -> Any:
    rate = check_range(owner, "p", p, 0.0, 1.0)
    if not check_bool(owner, "training", training):
        return input
    result = ops.zeros_like(input) if rate == 1.0 else drop(input, rate, True)
    return input.copy_(result) if check_bool(owner, "inplace", inplace) else result
