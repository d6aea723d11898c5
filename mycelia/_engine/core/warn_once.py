"""Warnings that are logged once per process."""

from __future__ import annotations

import logging

logger = logging.getLogger("mycelia")
_logged: set[str] = set()


def warn_once(message: str) -> None:
    """Log `message` as a warning the first time it occurs in this process."""
    if message not in _logged:
        _logged.add(message)
        logger.warning(message)
