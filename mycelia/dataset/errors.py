"""The error that all parts of the data pipeline raise for a value of a wrong type."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem


def wrong_type(argument: str, value: Any, expected: str) -> TypeError:
    """The error for an argument or a parameter of a wrong type."""
    return problem(
        TypeError,
        f"{argument}: of a wrong type",
        got=f"{value!r}, of type {type(value).__name__}",
        expected=expected,
    )
