"""Arrays as sets of numbers: unique elements, intersections, differences.

How many elements a result has depends on the numbers, so in graph mode the part around it runs
without a compiled graph.
"""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import bool_
from mycelia._engine.core.errors import problem
from mycelia.numpy.array_conversion import constant, to_tensor, together
from mycelia.numpy.logic import in1d


def unique(x: Any, return_inverse: bool = False) -> Any:
    """The different elements in the order in which they first occur.

    With `return_inverse` also, for each element of the flattened array, its place among them.
    """
    found, inverse = ops.unique(to_tensor(x).ravel())
    return (found, inverse) if return_inverse else found


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The elements that both arrays have, sorted; with the places of their first occurrence."""
    for flag in (assume_unique, return_indices):
        if not isinstance(flag, bool):
            raise problem(
                TypeError, "intersect1d: assume_unique or return_indices is no bool", got=repr(flag)
            )
    left, right = (t.ravel() for t in together(ar1, ar2))
    left, left_places = _sorted_set(left, assume_unique)
    right, right_places = _sorted_set(right, assume_unique)
    shared = in1d(left, right)
    common = ops.masked_select(left, shared)
    if not return_indices:
        return common
    found = in1d(right, left)
    places = ops.masked_select(left_places, shared), ops.masked_select(right_places, found)
    return common, *places


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements of `ar1` that `ar2` does not have; sorted unless they are known to differ."""
    left, right = (t.ravel() for t in together(ar1, ar2))
    if not assume_unique:
        left = _sorted_set(left, assume_unique)[0]
    return ops.masked_select(left, in1d(left, right, invert=True))


def _sorted_set(vector: Any, assume_unique: bool) -> tuple[Any, Any]:
    """The different elements of a vector in order, and where each first occurs."""
    values, places = ops.sort(vector)
    if assume_unique or vector.size < 2:
        return values, places
    size = vector.size - 1
    differs = ops.not_equal(ops.narrow(values, 0, 1, size), ops.narrow(values, 0, 0, size))
    is_new = ops.concat((constant([True], bool_), differs))
    return ops.masked_select(values, is_new), ops.masked_select(places, is_new)
