"""Short tracebacks: they end near the user's line, without the framework's inner frames."""

from __future__ import annotations

import os
from itertools import pairwise
from types import CodeType, TracebackType

from mycelia._engine.core.source_location import is_own_file, is_user_file

FULL = "MYCELIA_FULL_TRACEBACK"  # set this environment variable to 1 to see all frames


def mark_explained(error: BaseException) -> None:
    """Mark an error whose message tells users what they need, so its traceback can be short."""
    error._explained = True  # type: ignore[attr-defined]


def mark_call(error: TypeError) -> None:
    """Mark a TypeError as explained if the arguments of a call did not match its function.

    The frame that makes the call for the user catches the error: there is no further frame then.
    """
    trace = error.__traceback__
    if trace is not None and trace.tb_next is None:
        mark_explained(error)


def is_explained(error: BaseException) -> bool:
    """Whether the message of an error tells users what they need."""
    return getattr(error, "_explained", False) is True


def shorten(error: BaseException) -> None:
    """Remove the framework's uninformative frames from the traceback of an error that leaves it.

    Public entry points call this when an error passes through them, and raise it again. Of the
    framework's frames above each user line, only the entry point remains. The frames below the
    user's innermost line remain unless the message explains the error: only they show its origin.
    """
    if shows_all_frames():
        return
    entries = _entries(error)
    last = max((n for n, entry in enumerate(entries) if _is_user_line(entry)), default=0)
    behind = [] if is_explained(error) else entries[last + 1 :]
    remaining = [*_without_inner(entries[: last + 1]), *behind]
    for entry, following in pairwise([*remaining, None]):
        if entry is not None and entry.tb_next is not following:
            entry.tb_next = following
    while (
        is_explained(error)
        and error.__context__ is not None
        and not any(map(_is_user_line, _entries(error.__context__)))
    ):
        error.__context__ = error.__context__.__context__


def shows_all_frames() -> bool:
    """Whether the environment variable asks for full tracebacks."""
    return os.environ.get(FULL) == "1"


def innermost_frame(error: BaseException) -> CodeType | None:
    """The code that raised an error, or None if it has not been raised."""
    entries = _entries(error)
    return entries[-1].tb_frame.f_code if entries else None


def _entries(error: BaseException) -> list[TracebackType]:
    """The frames of an error, outermost first."""
    entries, entry = [], error.__traceback__
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    return entries


def _without_inner(entries: list[TracebackType]) -> list[TracebackType]:
    """Of consecutive framework frames, only the first."""
    own = [_is_own(entry) for entry in entries]
    return [entry for n, entry in enumerate(entries) if not (n and own[n] and own[n - 1])]


def _is_own(entry: TracebackType) -> bool:
    return is_own_file(entry.tb_frame.f_code.co_filename)


def _is_user_line(entry: TracebackType) -> bool:
    return is_user_file(entry.tb_frame.f_code.co_filename)
