"""Selection by index or condition: take, where, select, choose, argwhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia import ops
from mycelia._engine.core.dtype import bool_, float32
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import broadcast, normalize_axis
from mycelia.numpy.array_conversion import common_dtype, listed, to_shape, to_tensor, together
from mycelia.ops.indexing.index_modes import brought_inside


def take(a: Any, indices: Any, axis: Any = None, mode: str = "clip") -> Any:
    """Select elements by index, along an axis or from the flattened array.

    Indices out of range are clamped (`clip`) or wrap around (`wrap`).
    """
    source, places = to_tensor(a), to_tensor(indices)
    if axis is None:
        source, axis = source.ravel(), 0
    place = normalize_axis(axis, source.ndim, "take")
    return ops.gather(
        source, brought_inside("take", places, source.shape[place], mode, from_end=True), place
    )


def take_along_axis(arr: Any, indices: Any, axis: Any) -> Any:
    """Select elements along `axis` by an index array with the same number of axes."""
    source, places = to_tensor(arr), to_tensor(indices)
    if axis is None:
        source, axis = source.ravel(), 0
    place = normalize_axis(axis, source.ndim, "take_along_axis")
    if places.ndim != source.ndim:
        raise problem(
            ValueError,
            "take_along_axis: the arrays have different numbers of axes",
            got=f"{source.ndim} and {places.ndim}",
        )
    if not places.dtype.is_integer:
        raise problem(TypeError, "take_along_axis: indices must be integers", got=str(places.dtype))
    shape = [max(m, n) for m, n in zip(source.shape, places.shape, strict=True)]
    fitted, shape[place] = list(shape), places.shape[place]
    fitted[place] = source.shape[place]
    source, places = ops.broadcast_to(source, fitted), ops.broadcast_to(places, shape)
    return ops.gather_elements(source, place, places)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`x` where the condition holds, `y` elsewhere."""
    mask = ops.cast(to_tensor(condition), bool_)
    return ops.where(mask, *together(x, y))


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each element, the choice of the first condition that holds, or `default`."""
    if len(condlist) != len(choicelist):
        raise problem(
            ValueError,
            "select: the number of choices does not match the conditions",
            got=f"{len(condlist)} conditions and {len(choicelist)} choices",
        )
    if not len(choicelist):
        return ops.cast(to_tensor(default), float32)
    choices = listed(choicelist)
    result = ops.cast(to_tensor(default), common_dtype(*choices))
    conditions = [ops.cast(to_tensor(c), bool_) for c in condlist]
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        result = ops.where(condition, choice, result)
    return result


def choose(a: Any, choices: Any, mode: str = "clip") -> Any:
    """For each element of `a`, the element of the choice with that index."""
    options = listed(choices)
    numbers = brought_inside("choose", to_tensor(a), len(options), mode, from_end=False)
    result = options[-1]
    for number, option in reversed(list(enumerate(options[:-1]))):
        result = ops.where(ops.equal(numbers, number), option, result)
    return ops.broadcast_to(result, broadcast(result.shape, numbers.shape, op="choose"))


def argwhere(a: Any) -> Any:
    """The indices of the nonzero elements, one per row."""
    return ops.argwhere(to_tensor(a))


# ---- flat indices ---------------------------------------------------------------------------


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Any, ...]:
    """Convert flat indices to coordinates in `shape`."""
    sizes = to_shape("unravel_index", shape)
    flat = brought_inside(
        "unravel_index", to_tensor(indices), math.prod(sizes), "clip", from_end=True
    )
    found = []
    for stride, size in zip(_strides("unravel_index", sizes, order), sizes, strict=True):
        along = ops.floor_div(flat, ops.cast(to_tensor(stride), flat.dtype))
        found.append(ops.floor_mod(along, ops.cast(to_tensor(size), flat.dtype)))
    return tuple(found)


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Any:
    """Convert coordinates in `dims` to flat indices, in float32."""
    sizes = to_shape("ravel_multi_index", dims)
    if len(multi_index) != len(sizes):
        raise problem(
            ValueError,
            "ravel_multi_index: the number of indices does not match the axes",
            got=f"{len(multi_index)} indices for {len(sizes)} axes",
        )
    total = to_tensor(0)
    strides = _strides("ravel_multi_index", sizes, order)
    for places, size, stride in zip(multi_index, sizes, strides, strict=True):
        inside = brought_inside("ravel_multi_index", to_tensor(places), size, mode, from_end=False)
        total = ops.add(total, ops.mul(inside, stride))
    return ops.cast(total, float32)


def _strides(owner: str, sizes: tuple[int, ...], order: str) -> list[int]:
    """The strides of each axis in the flattened array, in elements."""
    if order not in ("C", "F"):
        raise wrong_value(owner, "order", order, "'C' or 'F'")
    along = sizes if order == "F" else sizes[::-1]
    strides = np.cumprod((1, *along[:-1])).tolist()
    return strides if order == "F" else strides[::-1]
