"""Custom marks and ranges in a profile."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from time import perf_counter
from typing import Any

from mycelia import log
from mycelia.profiler.recorder import MARK, RANGE, ActiveRecorder


@dataclass(frozen=True)
class _OpenRange:
    """An open range."""

    message: str
    domain: str
    began: float


_open: dict[int, _OpenRange] = {}
_numbers = count(1)


def mark(message: str, stream: Any = None, domain: str = "default") -> None:
    """Add a mark to the running profile; no effect without a profiler."""
    if ActiveRecorder.recorder is not None and _is_text(message, domain):
        now = perf_counter()
        ActiveRecorder.recorder.add(MARK, message, now, now, domain)


def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
    """Begin a range; returns its id, or 0 if no profiler runs or the message is not a string."""
    if ActiveRecorder.recorder is None or not _is_text(message, domain):
        return 0
    number = next(_numbers)
    _open[number] = _OpenRange(message, domain, perf_counter())
    return number


def range_end(range_id: int, domain: str = "default") -> None:
    """End a range, and add it to the running profile."""
    if range_id == 0:
        return
    found = _open.get(range_id) if isinstance(range_id, int) else None
    if found is None or found.domain != domain:
        log.warning("mstx: no open range %r in the domain %r", range_id, domain)
        return
    del _open[range_id]
    if ActiveRecorder.recorder is not None:
        ActiveRecorder.recorder.add(RANGE, found.message, found.began, perf_counter(), domain)


def _is_text(message: Any, domain: Any) -> bool:
    if isinstance(message, str) and message and isinstance(domain, str):
        return True
    log.warning("mstx: message and domain must be strings, got %r and %r", message, domain)
    return False
