"""The number of memory maps of this process, and its limit: each program uses several."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_MOST = Path("/proc/sys/vm/max_map_count")


def map_count() -> int:
    """The number of memory maps of this process; 0 if the system does not report it."""
    try:
        return _MAPS.read_bytes().count(b"\n")
    except OSError:
        return 0


@cache
def map_limit() -> int:
    """A third of the system's limit on memory maps per process."""
    try:
        return int(_MOST.read_text()) // 3
    except (OSError, ValueError):
        return 2**31
