"""Stacking rows into a batch: equal shapes are copied, others are padded first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.runtime.host_to_device import aligned

PadInfo = dict[str, Any]


def stack(arrays: Sequence[Any], column: str, names: Callable[[int], str]) -> Any:
    """One array with a new first axis; `names` names the rows in errors."""
    first = arrays[0]
    if isinstance(first, dict):
        return {key: stack([a[key] for a in arrays], f"{column}.{key}", names) for key in first}
    for index, array in enumerate(arrays):
        if array.shape != first.shape or not _is_of_type(array, first.dtype):
            raise problem(
                RuntimeError,
                f"batch: rows of different shapes or types in column {column!r}",
                got=f"{first.dtype}{list(first.shape)} from {names(0)} and "
                f"{array.dtype}{list(array.shape)} from {names(index)}",
                fix="make them equal in an earlier map, or use padded_batch",
            )
    if first.dtype.kind in "US":
        return np.stack(arrays)
    whole = aligned((len(arrays), *first.shape), first.dtype)
    for index, array in enumerate(arrays):
        whole[index] = array
    return whole


def _is_of_type(array: np.ndarray, kind: np.dtype[Any]) -> bool:
    """Whether an array has a type; strings may differ in length."""
    return array.dtype == kind or (kind.kind in "US" and array.dtype.kind == kind.kind)


def pad(arrays: Sequence[np.ndarray], column: str, wanted: Any) -> list[np.ndarray]:
    """Arrays padded or truncated to one shape.

    `wanted` is None or (shape, value), where None in the shape means the batch's largest size.
    """
    shape, value = (None, 0) if wanted is None else wanted
    ranks = {array.ndim for array in arrays}
    rank = len(shape) if shape is not None else arrays[0].ndim
    if ranks != {rank}:
        raise problem(
            RuntimeError,
            f"padded_batch: column {column!r} has a different rank than pad_info",
            got=str(sorted(ranks)),
            expected=str(rank),
        )
    largest = [max(array.shape[axis] for array in arrays) for axis in range(rank)]
    sizes = [
        big if want in (None, -1) else int(want)
        for big, want in zip(largest, shape or [None] * rank)
    ]
    if isinstance(value, str) and arrays[0].dtype.kind not in "US":
        raise problem(
            RuntimeError,
            f"padded_batch: column {column!r} is numeric, but the padding is a string",
            got=repr(value),
        )
    return [_padded(array, tuple(sizes), value) for array in arrays]


def _padded(array: np.ndarray, sizes: tuple[int, ...], value: Any) -> np.ndarray:
    if array.shape == sizes:
        return array
    fill = "" if array.dtype.kind in "US" and value in (None, 0) else 0 if value is None else value
    whole = np.full(sizes, fill, array.dtype)
    both = tuple(slice(0, min(pair)) for pair in zip(array.shape, sizes))
    whole[both] = array[both]
    return whole
