"""Conversion of values from users' functions and objects to the arrays of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.tensor.tensor import Tensor


def value_of(value: Any) -> Any:
    """One value of a row: a numpy array, or a dict of them."""
    if type(value) is np.ndarray and value.dtype != object:
        return value
    if isinstance(value, dict):
        return {key: value_of(entry) for key, entry in value.items()}
    if isinstance(value, Tensor):
        return value.asnumpy()
    if value is None:
        raise problem(TypeError, "a value of a row is None", expected="an array, number or text")
    array = np.asarray(value)
    if array.dtype == object:
        raise problem(
            TypeError,
            "a value of a row cannot be converted to an array",
            got=f"{type(value).__name__}: {value!r:.80}",
            expected="numbers or text in a rectangular shape",
        )
    return array


def row_of(
    values: Any, columns: Sequence[str], types: Sequence[np.dtype[Any] | None] | None = None
) -> tuple[Any, ...]:
    """A row of one array per column, from a tuple or a single value."""
    parts = values if isinstance(values, tuple) else (values,)
    if len(parts) != len(columns):
        raise problem(
            ValueError,
            "the number of values differs from the number of columns",
            got=f"{len(parts)} values",
            expected=f"{len(columns)}, for the columns {', '.join(map(repr, columns))}",
        )
    row = tuple(value_of(part) for part in parts)
    if types is not None:
        _check_types(row, columns, types)
    return row


def _check_types(
    row: Sequence[Any], columns: Sequence[str], types: Sequence[np.dtype[Any] | None]
) -> None:
    for value, column, kind in zip(row, columns, types):
        if kind is not None and not _is_of(value.dtype, kind):
            raise problem(
                TypeError,
                f"column {column!r} has a different type than column_types",
                got=str(value.dtype),
                expected=str(kind),
            )


def _is_of(dtype: np.dtype[Any], kind: np.dtype[Any]) -> bool:
    """Whether values have a type; strings may have any length."""
    return dtype.kind == kind.kind if kind.kind in "US" else dtype == kind


def own_copy(value: Any) -> Any:
    """Copy a user's array, because the user may reuse it and later steps may change the row."""
    return value.copy() if isinstance(value, np.ndarray) else value


def fitting(values: Any, kind: Any) -> np.ndarray:
    """Numbers from a file as an array. Raises ValueError if the dtype cannot hold them."""
    try:
        return np.array(values, kind)
    except OverflowError:
        raise ValueError(f"a number that {np.dtype(kind).name} cannot hold") from None
