"""Joining and splitting arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import normalize_axis
from mycelia.numpy.array_conversion import integer, listed, to_tensor
from mycelia.numpy.reshape import atleast_1d, atleast_2d, three_axes
from mycelia.tensor.tensor import Tensor


def concatenate(arrays: Any, axis: Any = 0) -> Any:
    """Concatenate arrays along an axis; None flattens them first."""
    tensors = listed(arrays)
    if axis is None:
        return ops.concat([t.ravel() for t in tensors])
    return ops.concat(tensors, axis)


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Append `values` to `arr` along an axis; None flattens both first."""
    first, second = listed((arr, values))
    if axis is not None and first.ndim != second.ndim:
        raise problem(
            ValueError,
            "append: the arrays have different numbers of axes",
            got=f"{first.ndim} and {second.ndim}",
        )
    return concatenate((first, second), axis)


def stack(arrays: Any, axis: int = 0) -> Any:
    """Stack arrays of the same shape along a new axis."""
    return ops.stack(listed(arrays), axis)


def vstack(tup: Any) -> Any:
    """Stack arrays vertically; vectors are rows. A single tensor is returned unchanged."""
    if isinstance(tup, Tensor):
        return tup
    return ops.concat([atleast_2d(t) for t in listed(tup)], 0)


def hstack(tup: Any) -> Any:
    """Stack arrays horizontally: along the second axis, or the only axis of vectors.

    A single tensor is returned unchanged.
    """
    if isinstance(tup, Tensor):
        return tup
    tensors = [atleast_1d(t) for t in listed(tup)]
    return ops.concat(tensors, 0 if tensors[0].ndim == 1 else 1)


def dstack(tup: Any) -> Any:
    """Stack arrays along the third axis. A single tensor is returned unchanged."""
    if isinstance(tup, Tensor):
        return tup
    return ops.concat([three_axes(t) for t in listed(tup)], 2)


def column_stack(tup: Any) -> Any:
    """Stack vectors and matrices as columns. A single tensor is returned unchanged."""
    if isinstance(tup, Tensor):
        return tup
    columns = [t if t.ndim > 1 else ops.reshape(t, (t.size, 1)) for t in listed(tup)]
    return ops.concat(columns, 1)


# ---- splitting ------------------------------------------------------------------------------


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split along an axis into equal parts, or at the given indices."""
    source = to_tensor(x)
    if is_int(indices_or_sections):
        size = source.shape[normalize_axis(axis, source.ndim, "split")]
        count = int(indices_or_sections)
        if count <= 0 or size % count:
            raise problem(
                ValueError,
                "split: the axis does not divide into equal parts",
                got=f"size {size} in {count} parts",
                fix="use array_split for unequal parts",
            )
    return array_split(source, indices_or_sections, axis)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split along an axis into parts of nearly equal size, or at the given indices."""
    source = to_tensor(x)
    place = normalize_axis(axis, source.ndim, "split")
    size = source.shape[place]
    if is_int(indices_or_sections):
        return tuple(_parts(source, place, _even_bounds(size, int(indices_or_sections))))
    if not isinstance(indices_or_sections, (tuple, list)):
        raise wrong_type(
            "split", "indices_or_sections", indices_or_sections, "int, tuple or list of ints"
        )
    places = [integer("split", "indices_or_sections", n) for n in indices_or_sections]
    inside = [min(max(n + size if n < 0 else n, 0), size) for n in places]
    return _parts(source, place, [0, *inside, size])


def _even_bounds(size: int, count: int) -> list[int]:
    if count <= 0:
        raise problem(ValueError, "split: the number of parts must be positive", got=str(count))
    each, longer = divmod(size, count)
    return [n * each + min(n, longer) for n in range(count + 1)]


def _parts(source: Any, axis: int, bounds: list[int]) -> list[Any]:
    if any(start >= stop for start, stop in pairwise(bounds)):
        raise problem(ValueError, "split: a part is empty", got=f"bounds {bounds}")
    return [ops.narrow(source, axis, start, stop - start) for start, stop in pairwise(bounds)]


def vsplit(x: Any, indices_or_sections: Any) -> Any:
    """Split along the first axis."""
    return split(x, indices_or_sections, 0)


def hsplit(x: Any, indices_or_sections: Any) -> Any:
    """Split along the second axis."""
    return split(x, indices_or_sections, 1)


def dsplit(x: Any, indices_or_sections: Any) -> Any:
    """Split along the third axis."""
    return split(x, indices_or_sections, 2)
