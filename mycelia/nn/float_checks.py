"""Checks of settings that must be Python floats: ints are rejected, as in MindSpore."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import (
    check_instance,
    check_non_negative_float,
    check_positive_float,
    check_range,
)


def positive_float(owner: str, argument: str, value: Any) -> float:
    return check_positive_float(owner, argument, check_instance(owner, argument, value, float))


def non_negative_float(owner: str, argument: str, value: Any) -> float:
    return check_non_negative_float(owner, argument, check_instance(owner, argument, value, float))


def open_unit_float(owner: str, argument: str, value: Any) -> float:
    """Check a float in the open interval (0, 1)."""
    checked = check_instance(owner, argument, value, float)
    return check_range(owner, argument, checked, 0.0, 1.0, closed="none")
