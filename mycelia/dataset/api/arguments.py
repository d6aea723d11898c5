"""Checks of the arguments of datasets, with MindSpore's exception types."""

from __future__ import annotations

import os
from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.dataset.errors import wrong_type as wrong_type

_MOST_WORKERS = 128


def names(argument: str, value: Any) -> tuple[str, ...]:
    """Column names as a tuple: one, several, or none (None)."""
    if value is None:
        return ()
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)):
        raise wrong_type(argument, value, "str, list or tuple")
    for name in given:
        if not isinstance(name, str):
            raise wrong_type(argument, name, "str")
        if not name:
            raise problem(ValueError, f"{argument}: a column has an empty name")
    if len(set(given)) != len(given):
        raise problem(ValueError, f"{argument}: duplicate column names", got=str(list(given)))
    return tuple(given)


def workers(value: Any) -> int | None:
    """Check a number of workers, which may exceed the number of processors."""
    if value is None:
        return None
    if not is_int(value):
        raise wrong_type("num_parallel_workers", value, "int")
    most = max(_MOST_WORKERS, os.cpu_count() or 1)
    if not 1 <= value <= most:
        raise problem(
            ValueError,
            "num_parallel_workers exceeds its range",
            got=str(value),
            expected=f"1 to {most}",
        )
    return int(value)


def row_size(value: Any) -> None:
    """Check a shared memory size in MiB, which is only a hint; -1 for any."""
    if value is not None and integer("max_rowsize", value) < -1:
        raise problem(ValueError, "max_rowsize: must be -1 or more", got=str(value))


def row_sizes(value: Any) -> None:
    """Check one such size, or a pair for inputs and outputs."""
    if not isinstance(value, list):
        row_size(value)
        return
    if len(value) != 2:
        raise wrong_type("max_rowsize", value, "int, or a list of two")
    for size in value:
        row_size(size)


def some_names(argument: str, value: Any) -> tuple[str, ...]:
    """Column names as a tuple: one, or a list of several."""
    if isinstance(value, tuple):
        raise wrong_type(argument, value, "str or list")
    found = names(argument, value)
    if not found:
        raise problem(ValueError, f"{argument}: the list is empty")
    return found


def integer(argument: str, value: Any) -> int:
    """Check for an int that is not a bool."""
    if not is_int(value):
        raise wrong_type(argument, value, "int")
    return int(value)


def not_negative(argument: str, value: Any) -> int:
    """Check for an int of 0 or more."""
    if integer(argument, value) < 0:
        raise problem(ValueError, f"{argument}: must be 0 or more", got=str(value))
    return int(value)


def text(argument: str, value: Any) -> str:
    """Check for a str."""
    if not isinstance(value, str):
        raise wrong_type(argument, value, "str")
    return value


def flag(argument: str, value: Any) -> bool:
    """Check for a bool."""
    if not isinstance(value, bool):
        raise wrong_type(argument, value, "bool")
    return value


def integers(argument: str, value: Any) -> tuple[int, ...]:
    """Check for a non-empty list of ints."""
    if not isinstance(value, (list, tuple)):
        raise wrong_type(argument, value, "list")
    if not value:
        raise problem(ValueError, f"{argument}: the list is empty")
    return tuple(integer(argument, entry) for entry in value)


def pad_info(value: Any) -> dict[str, Any] | None:
    """Check a dict from columns to None or (shape, value)."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise wrong_type("pad_info", value, "dict")
    for column, wanted in value.items():
        if not isinstance(column, str):
            raise wrong_type("key of pad_info", column, "str")
        if wanted is None:
            continue
        if not isinstance(wanted, tuple):
            raise wrong_type("value of pad_info", wanted, "tuple")
        if len(wanted) != 2:
            raise problem(
                ValueError,
                "pad_info: each value must be a pair (shape, value)",
                got=repr(wanted),
            )
        if wanted[0] is not None:
            _check_padded_shape(wanted[0])
    return dict(value)


def _check_padded_shape(shape: Any) -> None:
    if not isinstance(shape, list):
        raise wrong_type("shape in pad_info", shape, "list")
    for size in shape:
        if size is not None and integer("size of shape in pad_info", size) < 1:
            raise problem(
                ValueError,
                "pad_info: a size is out of range",
                got=str(shape),
                expected="1 or more, or None for the largest size",
            )


def callbacks(value: Any) -> tuple[Any, ...]:
    """Callbacks of a map as a tuple: one, several, or none (None)."""
    given = value if isinstance(value, (list, tuple)) else () if value is None else (value,)
    for callback in given:
        if not hasattr(callback, "ds_step_begin") or not hasattr(callback, "step_size"):
            raise wrong_type("callbacks", callback, "DSCallback or list of DSCallback")
    return tuple(given)
