"""The TypeError of data pipelines for an argument of the wrong type."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem


def wrong_type(argument: str, value: Any, expected: str) -> TypeError:
    """The TypeError for an argument of the wrong type."""
    return problem(
        TypeError,
        f"{argument}: wrong type",
        got=f"{value!r}, of type {type(value).__name__}",
        expected=expected,
    )
