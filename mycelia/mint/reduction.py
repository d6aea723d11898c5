"""Reductions: sums, extrema, norms, statistics, and cumulative functions."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import as_dtype, int64
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.tensor_protocol import TensorProtocol, check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.operator import unsupported_dtype
from mycelia.mint.float_functions import as_float
from mycelia.ops.reduction.argmax import Median


def in_dtype(x: Any, dtype: Any) -> Any:
    """Cast `x` to `dtype`; None leaves it unchanged."""
    return x if dtype is None else ops.cast(x, as_dtype(dtype))


def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over `dim` (all dimensions for None), computed in `dtype`."""
    check_tensors("mean", input=input)
    numbers = in_dtype(input, dtype)
    if not numbers.dtype.is_inexact:
        given = TensorType(numbers.dtype, numbers.shape)
        raise unsupported_dtype("mean", given, "a float tensor, or dtype=...")
    return ops.mean(numbers, dim, keepdim)


def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product over `dim` (all dimensions for None); small integers multiply as int64."""
    check_tensors("prod", input=input)
    over = tuple(range(len(input.shape))) if dim is None and keepdim else dim
    return ops.prod(input, over, keepdim, dtype)


def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over `dim`, ignoring NaN; small integers add up as int64."""
    check_tensors("nansum", input=input)
    known = ops.where(ops.isnan(input), 0.0, input) if input.dtype.is_float else input
    return ops.sum(known, dim, keepdim, dtype=dtype)


def all(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether all elements over `dim` are true (nonzero)."""
    check_tensors("all", input=input)
    return ops.all(_truth(input), dim, keepdim)


def any(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether any element over `dim` is true (nonzero)."""
    check_tensors("any", input=input)
    return ops.any(_truth(input), dim, keepdim)


def _truth(x: Any) -> Any:
    return x if x.dtype.is_bool else ops.not_equal(x, 0)


def amax(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The maximum over `dim` (all dimensions if empty)."""
    return ops.amax(input, dim, keepdim)


def amin(input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The minimum over `dim` (all dimensions if empty)."""
    return ops.amin(input, dim, keepdim)


def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The maximum; with `dim`, the maxima along it and their indices.

    With a tensor instead of `dim`, the element-wise maximum.
    """
    if isinstance(dim, TensorProtocol) or other is not None:
        return ops.maximum(input, dim if other is None else other)
    return ops.amax(input) if dim is None else ops.max(input, dim, keepdim)


def min(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The minimum; with `dim`, the minima along it and their indices.

    With a tensor instead of `dim`, the element-wise minimum.
    """
    if isinstance(dim, TensorProtocol) or other is not None:
        return ops.minimum(input, dim if other is None else other)
    return ops.amin(input) if dim is None else ops.min(input, dim, keepdim)


def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The index (int64) of the minimum along `dim`, or in the flattened tensor."""
    return ops.cast(ops.argmin(input, dim, keepdim), int64)


def median(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median (the lower of two middle elements); with `dim`, also its index."""
    if dim is None:
        return Median.of(True)(input)[0]
    return ops.median(input, dim, keepdim)


def count_nonzero(input: Any, dim: Any = None) -> Any:
    """The number of nonzero elements over `dim`."""
    return ops.count_nonzero(input, () if dim is None else dim, dtype=int64)


def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """The logarithm of the sum of exponentials over `dim`."""
    return ops.logsumexp(as_float(input), dim, keepdim)


def var(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The variance over `dim`, with the divisor count - correction."""
    return ops.var(input, dim, correction, keepdim)


def std(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The standard deviation over `dim`."""
    return ops.std(input, dim, correction, keepdim)


def var_mean(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The variance and the mean over `dim`."""
    return ops.var_mean(input, dim, correction, keepdim)


def std_mean(input: Any, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The standard deviation and the mean over `dim`."""
    return ops.std_mean(input, dim, correction, keepdim)


def norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """The vector norm of order `p` over `dim`, or the nuclear matrix norm for 'nuc'."""
    check_tensors("norm", input=input)
    if p == "nuc":
        over = (-2, -1) if dim is None else dim
        return ops.matrix_norm(input, p, over, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise problem(ValueError, "norm: unknown order", got=f"p={p!r}", expected="'fro' or 'nuc'")
    return ops.vector_norm(input, 2 if p == "fro" else p, dim, keepdim, dtype=dtype)


def cumsum(input: Any, dim: int, dtype: Any = None) -> Any:
    """The cumulative sum along `dim`; integers and bools add up as int64."""
    wanted = int64 if dtype is None and not input.dtype.is_inexact else dtype
    return ops.cumsum(input, dim, wanted)


def cummax(input: Any, dim: int) -> Any:
    """The cumulative maximum along `dim`, and its indices."""
    return ops.cummax(input, dim)


def cummin(input: Any, dim: int) -> Any:
    """The cumulative minimum along `dim`, and its indices."""
    values, places = ops.cummin(input, dim)
    return values, ops.cast(places, int64)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Softmax along `dim`."""
    return ops.softmax(as_float(in_dtype(input, dtype)), dim)


def log_softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Any:
    """The logarithm of softmax along `dim`."""
    axis = implied_dim(input) if dim is None else dim
    return ops.log_softmax(as_float(in_dtype(input, dtype)), axis)


def implied_dim(input: Any) -> int:
    """The default dimension of softmax: 0 for tensors with 0, 1, or 3 dimensions, else 1."""
    return 0 if len(input.shape) in (0, 1, 3) else 1
