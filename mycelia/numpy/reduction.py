"""Reductions: sums, means, extrema, cumulative sums, and their NaN-ignoring variants."""

from __future__ import annotations

import math
from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import DType, bool_, int32
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import normalize_axes
from mycelia.numpy.array_conversion import at_least_single, single, to_dtype, to_tensor, typed


def sum(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None
) -> Any:
    """The sum over the axes, plus `initial`; the sum of integers is int64."""
    source = typed(to_tensor(a), dtype)
    total = ops.sum(source, axis, keepdims, dtype=source.dtype if dtype is not None else None)
    return total if initial is None else ops.add(total, initial)


def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The mean over the axes; integers stay integers, truncated toward zero."""
    return ops.mean(typed(to_tensor(a), dtype), axis, keepdims)


def amax(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The maximum over the axes, of `initial` and the elements where `where` holds."""
    return _extreme("amax", ops.amax, a, axis, keepdims, initial, where)


def amin(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The minimum over the axes, of `initial` and the elements where `where` holds."""
    return _extreme("amin", ops.amin, a, axis, keepdims, initial, where)


def max(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The maximum over the axes: alias of `amax`."""
    return amax(a, axis, keepdims, initial, where)


def min(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The minimum over the axes: alias of `amin`."""
    return amin(a, axis, keepdims, initial, where)


def _extreme(
    owner: str, of: Any, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    source = to_tensor(a)
    mask = None if where is True else ops.cast(to_tensor(where), bool_)
    if mask is not None and initial is None:
        raise problem(ValueError, f"{owner}: where needs initial", fix="add initial=")
    if isinstance(initial, (list, tuple)):
        raise problem(TypeError, f"{owner}: initial must be a scalar", got=repr(initial))
    start = None if initial is None else ops.cast(to_tensor(initial), source.dtype)
    return of(source, axis, keepdims, initial=start, where=mask)


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The range (maximum minus minimum) over the axes."""
    return ops.sub(amax(x, axis, keepdims), amin(x, axis, keepdims))


def argmax(a: Any, axis: Any = None) -> Any:
    """The index of the maximum, along an axis or in the flattened array."""
    return ops.argmax(to_tensor(a), axis)


def argmin(a: Any, axis: Any = None) -> Any:
    """The index of the minimum, along an axis or in the flattened array."""
    return ops.argmin(to_tensor(a), axis)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The number of nonzero elements over the axes."""
    return ops.count_nonzero(to_tensor(x), () if axis is None else axis, keepdims)


def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The cumulative sum; small integers add up as int32."""
    if dtype is not None and to_dtype(dtype).is_bool:
        source, place = _along(a, axis, None)
        return ops.cast(ops.cumsum(source, place), bool_)
    source, place = _along(a, axis, dtype)
    return ops.cumsum(source, place)


def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The cumulative product; small integers are multiplied as int32."""
    source, place = _along(a, axis, dtype)
    return ops.cumprod(source, place, dtype=source.dtype)


def _along(a: Any, axis: Any, dtype: Any) -> tuple[Any, int]:
    """The array (flattened if axis is None) in the dtype of its cumulative sums, and the axis."""
    source = to_tensor(a)
    source = ops.cast(source, _running_dtype(source.dtype)) if dtype is None else source
    source = typed(source, dtype)
    return (source.ravel(), 0) if axis is None else (source, axis)


def _running_dtype(dtype: DType) -> DType:
    return int32 if dtype.is_bool or (dtype.is_integer and dtype.bits < 32) else dtype


# ---- reductions that ignore NaN -------------------------------------------------------------


def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum over the axes, ignoring NaN; the dtype stays."""
    source = _filled(typed(to_tensor(a), dtype), 0.0)
    return ops.sum(source, axis, keepdims, dtype=source.dtype)


def nanmax(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The maximum over the axes, ignoring NaN; NaN if all elements are NaN."""
    return typed(_nan_extreme(ops.amax, -math.inf, a, axis, keepdims), dtype)


def nanmin(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The minimum over the axes, ignoring NaN; NaN if all elements are NaN."""
    return typed(_nan_extreme(ops.amin, math.inf, a, axis, keepdims), dtype)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The mean over the axes, ignoring NaN."""
    source = at_least_single(a)
    total = ops.sum(_filled(source, 0.0), axis, keepdims)
    return typed(ops.div(total, _count(source, axis, keepdims)), dtype)


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """The variance, ignoring NaN, with the divisor count - ddof."""
    source = single(a)
    center = nanmean(source, axis, keepdims=True)
    squares = _filled(ops.square(ops.sub(source, center)), 0.0)
    total = ops.sum(squares, axis, keepdims)
    return typed(ops.div(total, ops.sub(_count(source, axis, keepdims), float(ddof))), dtype)


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """The standard deviation, ignoring NaN."""
    return typed(ops.sqrt(nanvar(a, axis, None, ddof, keepdims)), dtype)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The cumulative sum, with NaN as zero."""
    return cumsum(_filled(to_tensor(a), 0.0), axis, dtype)


def _filled(source: Any, value: float) -> Any:
    """Replace every NaN by `value`."""
    return ops.where(ops.isnan(source), value, source) if source.dtype.is_float else source


def _count(source: Any, axis: Any, keepdims: bool) -> Any:
    """The number of elements over the axes that are not NaN."""
    return ops.sum(ops.cast(ops.logical_not(ops.isnan(source)), source.dtype), axis, keepdims)


def _nan_extreme(of: Any, least: float, a: Any, axis: Any, keepdims: bool) -> Any:
    source = to_tensor(a)
    axes = normalize_axes(axis, source.ndim, "nanmax or nanmin")
    if not source.dtype.is_float:
        return of(source, axes, keepdims)
    found = of(_filled(source, least), axes, keepdims)
    return ops.where(ops.all(ops.isnan(source), axes, keepdims), math.nan, found)
