"""Tracebacks that end near the user's line: the framework's frames behind it say nothing more."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

from mycelia._engine.core.source_location import is_user_file

FULL = "MYCELIA_FULL_TRACEBACK"  # with 1 in this variable of the environment, nothing is left out


def mark_explained(error: BaseException) -> None:
    """Say that the message of an error tells users what they need."""
    error._explained = True  # type: ignore[attr-defined]


def is_explained(error: BaseException) -> bool:
    """Whether the message of an error tells users what they need."""
    return getattr(error, "_explained", False) is True


def shorten(error: BaseException) -> None:
    """Cut the frames behind the user's innermost line from an error with a message of ours.

    Public entry points call this where an error passes them, and raise it again: the entry point
    is the one frame of the framework that is left. Other errors keep everything, because only the
    frames say where they come from.
    """
    if not is_explained(error) or os.environ.get(FULL) == "1":
        return
    first = error.__traceback__
    last = first
    entry = first
    while entry is not None:
        if is_user_file(entry.tb_frame.f_code.co_filename):
            last = entry
        entry = entry.tb_next
    if last is not None:
        last.tb_next = None
    while error.__context__ is not None and not _is_users(error.__context__):
        error.__context__ = error.__context__.__context__


def _is_users(error: BaseException | None) -> bool:
    """Whether a line of the user took part in raising an earlier error."""
    entry: TracebackType | Any = None if error is None else error.__traceback__
    while entry is not None:
        if is_user_file(entry.tb_frame.f_code.co_filename):
            return True
        entry = entry.tb_next
    return False
