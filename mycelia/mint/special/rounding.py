"""Rounding to whole numbers."""

from __future__ import annotations

from typing import Any

from mycelia import ops


def round(input: Any) -> Any:
    """The nearest integers, halves to the even one."""
    return ops.round(input)
