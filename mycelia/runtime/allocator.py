"""How the C library keeps freed memory: programs that run again and again want it kept.

A training step frees what it computed, and the next step asks for the same amounts. By default
glibc gives large blocks back to the system, which fills them with zeros page by page when they are
asked for again: 58,000 page faults in a step of a small GPT, a quarter of its time. Kept, memory
stays at its highest mark until the process ends. MYCELIA_KEEP_MEMORY=0 leaves glibc as it is.
"""

from __future__ import annotations

import ctypes
import os
import platform

_ARENA_MAX, _MMAP_MAX, _TRIM_THRESHOLD = -8, -4, -1
_CHOICES = ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, -1))  # all three are needed


def keeps_memory() -> bool:
    """Whether freed memory is kept in this process."""
    return platform.libc_ver()[0] == "glibc" and os.environ.get("MYCELIA_KEEP_MEMORY") != "0"


def give_back() -> None:
    """Return what is free to the system once: compiling leaves much that is not needed again."""
    if keeps_memory():
        ctypes.CDLL(None).malloc_trim(0)


def keep_memory() -> None:
    """Ask the C library to keep what is freed; only of use before the first program runs."""
    if not keeps_memory():
        return
    library = ctypes.CDLL(None)
    for choice, value in _CHOICES:
        library.mallopt(choice, value)
