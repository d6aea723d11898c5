"""How many memory maps this process has, and how many it may have: each program takes several."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_MOST = Path("/proc/sys/vm/max_map_count")


def map_count() -> int:
    """The number of memory maps of this process; 0 where the system does not tell."""
    try:
        return _MAPS.read_bytes().count(b"\n")
    except OSError:
        return 0


@cache
def map_limit() -> int:
    """A third of the number at which the system refuses more memory to a process."""
    try:
        return int(_MOST.read_text()) // 3
    except (OSError, ValueError):
        return 2**31
