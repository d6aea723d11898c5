"""The load of the machine's processors."""

from __future__ import annotations

import os
import time
from pathlib import Path

STATISTICS = Path("/proc/stat")
IDLE = 0.15  # of one core, over PAUSE seconds
PAUSE = 0.15


def busy_seconds() -> float | None:
    """CPU time of all programs since boot; None if the system does not report it."""
    if not STATISTICS.exists():
        return None
    with STATISTICS.open() as lines:
        ticks = [int(t) for t in lines.readline().split()[1:]]
    idle, waiting = ticks[3:5]
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")


def wait_until_idle(patience: float) -> bool:
    """Wait until nothing else runs, at most `patience` seconds; returns whether that succeeded."""
    end = time.monotonic() + patience
    while True:
        before = busy_seconds()
        if before is None:
            return True
        time.sleep(PAUSE)
        after = busy_seconds()
        if after is not None and (after - before) / PAUSE < IDLE:
            return True
        if time.monotonic() > end:
            return False
