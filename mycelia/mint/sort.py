"""Sorting, top-k selection, counting, and unique elements."""

from __future__ import annotations

import builtins
from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import check_bool, check_int, check_non_negative_int
from mycelia._engine.core.dtype import float64, int64
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia.ops.indexing.unique import DistinctSorted


def sort(input: Any, *, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Sort along `dim`, stably; returns the elements and their original indices."""
    check_tensors("sort", input=input)
    check_bool("sort", "stable", stable)
    if not input.shape:
        return ops.identity(input), ops.zeros((), int64)
    values, places = ops.sort(input, dim, descending)
    return values, ops.cast(places, int64)


def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The indices that sort `input` along `dim`."""
    return sort(input, dim=dim, descending=descending, stable=stable)[1]


def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) elements along `dim`, and their indices."""
    values, places = ops.topk(input, k, dim, largest, sorted)
    return values, ops.cast(places, int64)


def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest element along `dim`, and its index."""
    check_tensors("kthvalue", input=input)
    check_bool("kthvalue", "keepdim", keepdim)
    axis = normalize_axis(check_int("kthvalue", "dim", dim), len(input.shape), "kthvalue")
    size = input.shape[axis]
    if not 1 <= check_int("kthvalue", "k", k) <= size:
        raise problem(RuntimeError, "kthvalue: k is out of range", got=f"k={k}, {size} elements")
    both = sort(input, dim=axis)
    found = tuple(ops.narrow(part, axis, k - 1, 1) for part in both)
    return found if keepdim else tuple(ops.squeeze(part, axis) for part in found)


def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The unique elements, or slices along `dim`, in ascending order.

    Optionally also returns the index of each element among them (`return_inverse`) and how often
    each occurs (`return_counts`).
    """
    check_bool("unique", "sorted", sorted)
    found, inverse, counts = DistinctSorted.of(dim)(input)
    wanted = [found]
    wanted += [inverse] if check_bool("unique", "return_inverse", return_inverse) else []
    wanted += [counts] if check_bool("unique", "return_counts", return_counts) else []
    return tuple(wanted) if len(wanted) > 1 else found


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Count the occurrences of each non-negative integer, or sum their weights."""
    if not input.dtype.is_integer or len(input.shape) != 1:
        raise wrong_type("bincount", "input", input, "a vector of integers")
    least = check_non_negative_int("bincount", "minlength", minlength)
    places = ops.cast(input, int64)
    if input.size and int(ops.amin(places)) < 0:
        raise problem(ValueError, "bincount: the elements must not be negative")
    length = builtins.max(int(ops.amax(places)) + 1, least) if input.size else least
    if weights is None:
        amounts = ops.ones(input.shape, int64)
    else:
        amounts = weights if weights.dtype.is_float else ops.cast(weights, float64)
    return ops.tensor_scatter_elements(
        ops.zeros((length,), amounts.dtype), places, amounts, 0, "add"
    )


def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """Histogram with `bins` equal bins from `min` to `max`."""
    return ops.cast(ops.histc(input, bins, float(min), float(max)), input.dtype)
