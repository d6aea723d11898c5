"""Rounding to integers."""

from __future__ import annotations

from typing import Any

from mycelia import ops


def round(input: Any) -> Any:
    """Round to the nearest integer; halves round to even."""
    return ops.round(input)
