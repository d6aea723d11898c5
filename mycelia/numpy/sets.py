"""Set operations on arrays: unique elements, intersection, difference.

The size of a result depends on values, so in graph mode the calling function falls back to the
interpreter.
"""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import bool_
from mycelia._engine.core.errors import problem
from mycelia.numpy.array_conversion import constant, to_tensor, together
from mycelia.numpy.logic import in1d


def unique(x: Any, return_inverse: bool = False) -> Any:
    """The unique elements in the order of their first occurrence.

    With `return_inverse`, also the index among them of each element of the flattened array.
    """
    found, inverse = ops.unique(to_tensor(x).ravel())
    return (found, inverse) if return_inverse else found


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The sorted intersection of two arrays; optionally with the first indices in both."""
    for flag in (assume_unique, return_indices):
        if not isinstance(flag, bool):
            raise problem(
                TypeError,
                "intersect1d: assume_unique and return_indices must be bools",
                got=repr(flag),
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
    """The elements of `ar1` that are not in `ar2`; sorted unless `assume_unique`."""
    left, right = (t.ravel() for t in together(ar1, ar2))
    if not assume_unique:
        left = _sorted_set(left, assume_unique)[0]
    return ops.masked_select(left, in1d(left, right, invert=True))


def _sorted_set(vector: Any, assume_unique: bool) -> tuple[Any, Any]:
    """The sorted unique elements of a vector, and the index of each first occurrence."""
    values, places = ops.sort(vector)
    if assume_unique or vector.size < 2:
        return values, places
    size = vector.size - 1
    differs = ops.not_equal(ops.narrow(values, 0, 1, size), ops.narrow(values, 0, 0, size))
    is_new = ops.concat((constant([True], bool_), differs))
    return ops.masked_select(values, is_new), ops.masked_select(places, is_new)
