"""Warnings to the user, each said once, through Python's logging."""

from __future__ import annotations

import logging

logger = logging.getLogger("mycelia")
_said: set[str] = set()


def warn_once(message: str) -> None:
    """Log `message` as a warning the first time it comes up in this process."""
    if message not in _said:
        _said.add(message)
        logger.warning(message)
