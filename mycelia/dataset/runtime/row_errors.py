"""Errors for failing rows: which row, which operation, and the traceback of user code."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import located
from mycelia.dataset.runtime.process.process_pool import RemoteError
from mycelia.dataset.runtime.row import Row

_PACKAGE = Path(__file__).parent.parent


def failed(step: str, row: Row, error: BaseException, operation: Any = None) -> RuntimeError:
    """The error for `row`, which `error` stopped at `step`."""
    doing = f"{step}: the operation {name_of(operation)!r}" if operation is not None else step
    made = located(
        RuntimeError,
        f"{doing} failed on {row.name()} "
        f"(epoch {row.epoch}, position {row.index}): {_said(error)}"
        f"{_user_frames(error)}",
        span=None,
    )
    made.__cause__ = error
    return made


def _said(error: BaseException) -> str:
    return str(error) if isinstance(error, RemoteError) else f"{type(error).__name__}: {error}"


def _user_frames(error: BaseException) -> str:
    """The traceback of `error`, starting in user code."""
    if isinstance(error, RemoteError):
        return "\n\nIn a worker process:\n" + error.trace.rstrip()
    frames = traceback.extract_tb(error.__traceback__)
    first = next((i for i, frame in enumerate(frames) if not _is_ours(frame.filename)), None)
    if first is None:
        return ""
    lines = traceback.format_list(frames[first:]) + traceback.format_exception_only(error)
    return "\n\nTraceback (most recent call last):\n" + "".join(lines).rstrip()


def _is_ours(filename: str) -> bool:
    return Path(filename).is_relative_to(_PACKAGE)


def name_of(operation: Any) -> str:
    """The name of an operation for users."""
    return getattr(operation, "__name__", None) or type(operation).__name__
