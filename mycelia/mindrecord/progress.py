"""How far a long conversion is, shown on a terminal and nowhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

try:
    from rich.console import Console
    from rich.progress import track
except ImportError:  # the extra is not installed: a plain line instead
    track = None  # type: ignore[assignment]

T = TypeVar("T")
_PAUSE = 0.2  # seconds between two changes of the line


def shown(rows: Iterable[T], label: str, total: int | None = None) -> Iterator[T]:
    """The same rows; a terminal shows how many of them came so far."""
    if not sys.stderr.isatty():
        return iter(rows)
    if track is not None and total is not None:
        console = Console(stderr=True)
        return iter(track(rows, label, total, console=console, transient=True))
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
