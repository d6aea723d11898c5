"""Locations in user code: file, line, and columns."""

from __future__ import annotations

import linecache
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import FrameType

PACKAGE = Path(__file__).resolve().parents[__name__.count(".") - 1]  # the folder `mycelia`
_FRAMEWORK = str(PACKAGE)
_LIBRARY = str(Path(os.__file__).resolve().parent)  # Python's own modules
_FOREIGN = ("site-packages", "<frozen", "<string>", "dist-packages")


@dataclass(frozen=True)
class Span:
    """A stretch of one line of user code."""

    file: str
    line: int
    column: int | None
    end_column: int | None
    function: str

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.line).rstrip("\n")

    def show(self) -> str:
        """Location, line, and carets under the span: up to three lines for an error message."""
        text = self.text
        location = f"{Path(self.file).name}:{self.line} in {self.function}"
        if not text.strip():
            return f"  {location}"
        indent = len(text) - len(text.lstrip())
        shown = f"  {location}\n      {text.strip()}"
        if self.column is None or self.end_column is None or self.end_column <= self.column:
            return shown
        return (
            f"{shown}\n      {' ' * (self.column - indent)}{'^' * (self.end_column - self.column)}"
        )


class _TracedSource(threading.local):
    """The location in user code that is being traced, if any."""

    span: Callable[[], Span | None] | None = None


traced_source = _TracedSource()


def current_span() -> Span | None:
    """The current line of user code: the one being traced, or the one on Python's stack."""
    span = traced_source.span() if traced_source.span is not None else None
    return span if span is not None else user_span()


def user_span() -> Span | None:
    """The innermost line of user code on the stack: the nearest frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return _span_of(frame)
        frame = frame.f_back
    return None


def is_user_file(file: str) -> bool:
    """Whether `file` is the user's, not this package's or another library's."""
    return not (file.startswith((_FRAMEWORK, _LIBRARY)) or any(part in file for part in _FOREIGN))


def is_own_file(file: str) -> bool:
    """Whether `file` is this package's or one of Python's own modules."""
    return file.startswith((_FRAMEWORK, _LIBRARY, "<frozen")) and "site-packages" not in file


def _span_of(frame: FrameType) -> Span:
    code = frame.f_code
    positions = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    line, end_line, column, end_column = positions
    if line is None or line != end_line:
        column = end_column = None
    return Span(code.co_filename, frame.f_lineno, column, end_column, code.co_name)
