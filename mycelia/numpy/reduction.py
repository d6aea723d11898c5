"""Many elements to one: sums, means, extremes, running sums, with or without those that are nan."""

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
    """The sum over the axes, `initial` added; whole numbers give int64."""
    source = typed(to_tensor(a), dtype)
    total = ops.sum(source, axis, keepdims, dtype=source.dtype if dtype is not None else None)
    return total if initial is None else ops.add(total, initial)


def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The mean over the axes; whole numbers stay whole, cut off towards zero."""
    return ops.mean(typed(to_tensor(a), dtype), axis, keepdims)


def amax(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The largest element over the axes, of those where `where` holds and of `initial`."""
    return _extreme("amax", ops.amax, a, axis, keepdims, initial, where)


def amin(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The smallest element over the axes, of those where `where` holds and of `initial`."""
    return _extreme("amin", ops.amin, a, axis, keepdims, initial, where)


def max(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The largest element over the axes: another name of `amax`."""
    return amax(a, axis, keepdims, initial, where)


def min(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The smallest element over the axes: another name of `amin`."""
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
    """The distance between the largest and the smallest element over the axes."""
    return ops.sub(amax(x, axis, keepdims), amin(x, axis, keepdims))


def argmax(a: Any, axis: Any = None) -> Any:
    """The place of the largest element, along an axis or in the flattened array."""
    return ops.argmax(to_tensor(a), axis)


def argmin(a: Any, axis: Any = None) -> Any:
    """The place of the smallest element, along an axis or in the flattened array."""
    return ops.argmin(to_tensor(a), axis)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements over the axes are not zero."""
    return ops.count_nonzero(to_tensor(x), () if axis is None else axis, keepdims)


def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The sums of the elements so far; small whole numbers are added in int32."""
    if dtype is not None and to_dtype(dtype).is_bool:
        source, place = _along(a, axis, None)
        return ops.cast(ops.cumsum(source, place), bool_)
    source, place = _along(a, axis, dtype)
    return ops.cumsum(source, place)


def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The products of the elements so far; small whole numbers are multiplied in int32."""
    source, place = _along(a, axis, dtype)
    return ops.cumprod(source, place, dtype=source.dtype)


def _along(a: Any, axis: Any, dtype: Any) -> tuple[Any, int]:
    """An array, flattened if no axis is named, in the dtype of its running sums; and the axis."""
    source = to_tensor(a)
    source = ops.cast(source, _running_dtype(source.dtype)) if dtype is None else source
    source = typed(source, dtype)
    return (source.ravel(), 0) if axis is None else (source, axis)


def _running_dtype(dtype: DType) -> DType:
    return int32 if dtype.is_bool or (dtype.is_integer and dtype.bits < 32) else dtype


# ---- without the elements that are nan ------------------------------------------------------


def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum over the axes of the elements that are numbers; the dtype stays."""
    source = _filled(typed(to_tensor(a), dtype), 0.0)
    return ops.sum(source, axis, keepdims, dtype=source.dtype)


def nanmax(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The largest of the elements that are numbers; nan where there is none."""
    return typed(_nan_extreme(ops.amax, -math.inf, a, axis, keepdims), dtype)


def nanmin(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The smallest of the elements that are numbers; nan where there is none."""
    return typed(_nan_extreme(ops.amin, math.inf, a, axis, keepdims), dtype)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The mean over the axes of the elements that are numbers."""
    source = at_least_single(a)
    total = ops.sum(_filled(source, 0.0), axis, keepdims)
    return typed(ops.div(total, _count(source, axis, keepdims)), dtype)


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """The variance of the elements that are numbers, divided by their count less `ddof`."""
    source = single(a)
    center = nanmean(source, axis, keepdims=True)
    squares = _filled(ops.square(ops.sub(source, center)), 0.0)
    total = ops.sum(squares, axis, keepdims)
    return typed(ops.div(total, ops.sub(_count(source, axis, keepdims), float(ddof))), dtype)


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """The standard deviation of the elements that are numbers."""
    return typed(ops.sqrt(nanvar(a, axis, None, ddof, keepdims)), dtype)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The sums of the elements so far, nan counting as zero."""
    return cumsum(_filled(to_tensor(a), 0.0), axis, dtype)


def _filled(source: Any, value: float) -> Any:
    """`value` in the place of every nan."""
    return ops.where(ops.isnan(source), value, source) if source.dtype.is_float else source


def _count(source: Any, axis: Any, keepdims: bool) -> Any:
    """How many elements over the axes are numbers."""
    return ops.sum(ops.cast(ops.logical_not(ops.isnan(source)), source.dtype), axis, keepdims)


def _nan_extreme(of: Any, least: float, a: Any, axis: Any, keepdims: bool) -> Any:
    source = to_tensor(a)
    axes = normalize_axes(axis, source.ndim, "nanmax or nanmin")
    if not source.dtype.is_float:
        return of(source, axes, keepdims)
    found = of(_filled(source, least), axes, keepdims)
    return ops.where(ops.all(ops.isnan(source), axes, keepdims), math.nan, found)
