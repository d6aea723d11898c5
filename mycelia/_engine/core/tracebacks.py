"""Tracebacks that end near the user's line: the framework's frames behind it say nothing more."""

from __future__ import annotations

import os
from itertools import pairwise
from types import CodeType, TracebackType

from mycelia._engine.core.source_location import is_own_file, is_user_file

FULL = "MYCELIA_FULL_TRACEBACK"  # with 1 in this variable of the environment, nothing is left out


def mark_explained(error: BaseException) -> None:
    """Say that the message of an error tells users what they need."""
    error._explained = True  # type: ignore[attr-defined]


def mark_call(error: TypeError) -> None:
    """Say that an error explains itself if the arguments of a call did not fit its function.

    The frame that makes the call for the user catches the error: there is no further frame then.
    """
    trace = error.__traceback__
    if trace is not None and trace.tb_next is None:
        mark_explained(error)


def is_explained(error: BaseException) -> bool:
    """Whether the message of an error tells users what they need."""
    return getattr(error, "_explained", False) is True


def shorten(error: BaseException) -> None:
    """Cut the framework's frames that say nothing from an error that leaves it.

    Public entry points call this where an error passes them, and raise it again. The entry point is
    the one frame of the framework that is left above each line of the user's. The frames behind the
    user's innermost line stay unless the message explains the error: only they say where it comes
    from.
    """
    if shows_all_frames():
        return
    entries = _entries(error)
    last = max((n for n, entry in enumerate(entries) if _is_user_line(entry)), default=0)
    behind = [] if is_explained(error) else entries[last + 1 :]
    kept = [*_without_inner(entries[: last + 1]), *behind]
    for entry, following in pairwise([*kept, None]):
        if entry is not None and entry.tb_next is not following:
            entry.tb_next = following
    while (
        is_explained(error)
        and error.__context__ is not None
        and not any(map(_is_user_line, _entries(error.__context__)))
    ):
        error.__context__ = error.__context__.__context__


def shows_all_frames() -> bool:
    """Whether the environment asks for all frames of all errors."""
    return os.environ.get(FULL) == "1"


def innermost_frame(error: BaseException) -> CodeType | None:
    """The code that raised an error, or None before it has been raised."""
    entries = _entries(error)
    return entries[-1].tb_frame.f_code if entries else None


def _entries(error: BaseException) -> list[TracebackType]:
    """The frames of an error, outermost first."""
    found, entry = [], error.__traceback__
    while entry is not None:
        found.append(entry)
        entry = entry.tb_next
    return found


def _without_inner(entries: list[TracebackType]) -> list[TracebackType]:
    """Of frames of the framework that follow each other, the first alone."""
    own = [_is_own(entry) for entry in entries]
    return [entry for n, entry in enumerate(entries) if not (n and own[n] and own[n - 1])]


def _is_own(entry: TracebackType) -> bool:
    return is_own_file(entry.tb_frame.f_code.co_filename)


def _is_user_line(entry: TracebackType) -> bool:
    return is_user_file(entry.tb_frame.f_code.co_filename)
