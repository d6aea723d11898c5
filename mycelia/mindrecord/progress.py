"""A progress display for long conversions, on terminals only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from mycelia._engine.core.lazy_import import optional_module

rich_progress = optional_module("rich.progress")  # without it, a plain line is printed
rich_console = optional_module("rich.console")

T = TypeVar("T")
_PAUSE = 0.2  # seconds between two updates


def shown(rows: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """Yield the same rows; on a terminal, show how many have been processed."""
    if not sys.stderr.isatty():
        return iter(rows)
    if rich_progress is not None and total is not None:
        console = rich_console.Console(stderr=True)
        return iter(rich_progress.track(rows, label, total, console=console, transient=True))
    return _counted(rows, label, total)


def _counted(rows: Iterable[T], label: str, total: int | None) -> Iterator[T]:
    last, count = time.monotonic(), 0
    end = "" if total is None else f" of {total}"
    for count, row in enumerate(rows, 1):
        yield row
        now = time.monotonic()
        if now - last > _PAUSE:
            last = now
            print(f"\r{label}: {count}{end} rows", end="", file=sys.stderr, flush=True)
    print(f"\r{label}: {count}{end} rows", file=sys.stderr, flush=True)
