"""Progress displays: a rich bar on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any, Protocol, TextIO

from mycelia._engine.core.lazy_import import optional_module

rich_progress = optional_module("rich.progress")  # optional: without it, a line without a bar
rich_console = optional_module("rich.console")


class ProgressDisplay(Protocol):
    """Displays the progress of a run."""

    def show(self, done: int, total: int, text: str) -> None:
        """Show that `done` of `total` steps are complete; replaces the previous text."""

    def close(self, text: str) -> None:
        """Show `text` as the final state."""


class RichProgressBar:
    """A rich progress bar, which needs a terminal."""

    def __init__(self, file: TextIO) -> None:
        parts, console = rich_progress, rich_console.Console(file=file)
        columns = parts.BarColumn(bar_width=24), parts.TextColumn("{task.description}")
        self._progress = parts.Progress(
            *columns, console=console, auto_refresh=False, transient=True
        )
        self._task: Any = None

    def show(self, done: int, total: int, text: str) -> None:
        if self._task is None:
            self._progress.start()
            self._task = self._progress.add_task(text, total=total)
        self._progress.update(self._task, completed=done, total=total, description=text)
        self._progress.refresh()

    def close(self, text: str) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
        self._progress.stop()
        self._progress.console.print(text, highlight=False)


class TerminalLine:
    """One line of a terminal, overwritten at each update."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def show(self, done: int, total: int, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._write(f"\r{text[:width]:<{width}}")

    def close(self, text: str) -> None:
        self.show(0, 0, text)
        self._write("\n")

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


class LogFileLines:
    """Lines of a log file, one every `every` seconds."""

    def __init__(self, file: TextIO, every: float) -> None:
        self._file, self._every = file, every
        self._last = time.monotonic()

    def show(self, done: int, total: int, text: str) -> None:
        if time.monotonic() - self._last >= self._every:
            self.close(text)

    def close(self, text: str) -> None:
        self._last = time.monotonic()
        print(text, file=self._file, flush=True)


def display(file: TextIO | None, every: float) -> ProgressDisplay:
    """The best display for a file, by default standard output."""
    stream = sys.stdout if file is None else file
    if not stream.isatty():
        return LogFileLines(stream, every)
    return TerminalLine(stream) if rich_progress is None else RichProgressBar(stream)
