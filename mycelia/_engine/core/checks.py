"""Checks of user arguments, with MindSpore's exception types."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from mycelia._engine.core.errors import wrong_type, wrong_value


def is_int(value: Any) -> bool:
    """An integer, numpy's included, but not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """A real number, numpy's included, but not a bool."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_int(owner: str, argument: str, value: Any) -> int:
    if not is_int(value):
        raise wrong_type(owner, argument, value, "int")
    return int(value)


def check_positive_int(owner: str, argument: str, value: Any) -> int:
    if check_int(owner, argument, value) <= 0:
        raise wrong_value(owner, argument, value, "int and must > 0")
    return int(value)


def check_non_negative_int(owner: str, argument: str, value: Any) -> int:
    if check_int(owner, argument, value) < 0:
        raise wrong_value(owner, argument, value, "int and must >= 0")
    return int(value)


def check_float(owner: str, argument: str, value: Any) -> float:
    if not is_number(value):
        raise wrong_type(owner, argument, value, "float")
    return float(value)


def check_positive_float(owner: str, argument: str, value: Any) -> float:
    if check_float(owner, argument, value) <= 0:
        raise wrong_value(owner, argument, value, "float and must > 0")
    return float(value)


def check_non_negative_float(owner: str, argument: str, value: Any) -> float:
    if check_float(owner, argument, value) < 0:
        raise wrong_value(owner, argument, value, "float and must >= 0")
    return float(value)


def check_range(
    owner: str, argument: str, value: Any, low: float, high: float, *, closed: str = "both"
) -> float:
    """Check `low <= value <= high`; `closed` says which ends are included (both, left, ...)."""
    number = check_float(owner, argument, value)
    above = number >= low if closed in ("both", "left") else number > low
    below = number <= high if closed in ("both", "right") else number < high
    if not (above and below):
        left = "[" if closed in ("both", "left") else "("
        right = "]" if closed in ("both", "right") else ")"
        raise wrong_value(owner, argument, value, f"in range of {left}{low}, {high}{right}")
    return number


def check_bool(owner: str, argument: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise wrong_type(owner, argument, value, "bool")
    return value


def check_string(owner: str, argument: str, value: Any, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise wrong_value(owner, argument, value, f"str and must be in '{list(allowed)}'")
    return value


def check_instance(owner: str, argument: str, value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise wrong_type(owner, argument, value, " or ".join(k.__name__ for k in kinds))
    return value


def as_tuple(owner: str, argument: str, value: Any, length: int) -> tuple[int, ...]:
    """An int repeated, or a sequence of `length` ints."""
    if is_int(value):
        return (int(value),) * length
    if isinstance(value, (tuple, list)):
        if len(value) != length:
            raise wrong_value(owner, argument, value, f"an int or a tuple of {length} ints")
        return tuple(check_int(owner, argument, v) for v in value)
    raise wrong_type(owner, argument, value, f"int or tuple of {length} ints")
