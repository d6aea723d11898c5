"""Checks of the arguments of transforms, with MindSpore's exception types."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import is_int, is_number
from mycelia._engine.core.errors import problem
from mycelia.dataset.errors import wrong_type as wrong_type


def check_number(
    argument: str, value: Any, low: float, high: float, *, open_low: bool = False
) -> float:
    """Check for a number in an interval."""
    if not is_number(value):
        raise wrong_type(argument, value, "float or int")
    if not low <= value <= high or (open_low and value == low):
        raise problem(
            ValueError,
            f"{argument}: out of range",
            got=str(value),
            expected=f"{f'above {low}' if open_low else f'{low} or more'}, up to {high}",
        )
    return float(value)


def check_int(argument: str, value: Any, low: int, high: int = 2**31 - 1) -> int:
    """Check for an int in an interval."""
    if not is_int(value):
        raise wrong_type(argument, value, "int")
    check_number(argument, value, low, high)
    return int(value)


def check_bool(argument: str, value: Any) -> bool:
    """Check for a bool."""
    if not isinstance(value, bool):
        raise wrong_type(argument, value, "bool")
    return value


def check_steps(argument: str, value: Any) -> list[Any]:
    """Check for a non-empty list of transforms or functions."""
    if not isinstance(value, list):
        raise wrong_type(argument, value, "list")
    if not value:
        raise problem(ValueError, f"{argument}: the list is empty")
    for index, step in enumerate(value):
        if not callable(step):
            raise problem(
                TypeError,
                f"{argument}[{index}]: must be a transform or a function",
                got=repr(step),
            )
    return value


def check_range(
    argument: str, value: Any, low: float, high: float, *, positive: bool = False
) -> tuple[float, float]:
    """Check for an increasing pair of numbers in an interval."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise wrong_type(argument, value, "tuple of 2 numbers")
    for index, entry in enumerate(value):
        check_number(f"{argument}[{index}]", entry, low, high, open_low=positive)
    if value[0] > value[1]:
        raise problem(
            ValueError,
            f"{argument}: the minimum exceeds the maximum",
            got=repr(value),
            expected="(least, most)",
        )
    return float(value[0]), float(value[1])
