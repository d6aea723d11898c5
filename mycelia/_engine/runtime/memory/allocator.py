"""How the C library gets and keeps memory: programs that run again and again want it kept.

A training step frees what it computed, and the next step asks for the same amounts. By default
glibc gives large blocks back to the system, which fills them with zeros page by page when they are
asked for again: 58,000 page faults in a step of a small GPT, a quarter of its time. Kept, memory
stays at its highest mark until the process ends. MYCELIA_KEEP_MEMORY=0 leaves glibc as it is.

Memory that is kept may as well lie in pages of 2 MB, of which a processor remembers the places of
more: steps of GPT, BERT, LSTM and ResNets take 0.97 to 0.99 of the time, those of a large table
0.87. Linux gives them where it is asked to, and only for memory that nobody has used yet; hence
address space for much of what a process may need is reserved, which takes none of the machine's
memory by itself.
"""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from pathlib import Path

_ARENA_MAX, _MMAP_MAX, _TRIM_THRESHOLD = -8, -4, -1
_CHOICES = ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, -1))  # all three are needed
_ADDRESSES = 9  # RLIMIT_AS
_WANT_LARGE_PAGES = 14  # MADV_HUGEPAGE
_LARGE_PAGE = 1 << 21
_OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory")


def keeps_memory() -> bool:
    """Whether freed memory is kept in this process."""
    return platform.libc_ver()[0] == "glibc" and os.environ.get("MYCELIA_KEEP_MEMORY") != "0"


def release_free_memory() -> None:
    """Return what is free to the system once: compiling leaves much that is not needed again."""
    if keeps_memory():
        c_library().malloc_trim(0)
        _reserve_large_pages()


def keep_memory() -> None:
    """Tune the C library, unless asked not to; only of use before the first program runs."""
    if keeps_memory():
        tune()


def tune() -> None:
    """Let glibc keep what is freed, in large pages."""
    for choice, value in _CHOICES:
        c_library().mallopt(choice, value)
    _reserve_large_pages()


def _reserve_large_pages() -> None:
    """Ask for large pages for what the heap grows by, up to half of the machine's memory."""
    if _addresses_are_scarce():
        return
    library, size = c_library(), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    block = library.malloc(size)  # not touched, and a part of the heap even when it is freed
    if block:
        start = -(-block // _LARGE_PAGE) * _LARGE_PAGE
        library.madvise(start, block + size - start, _WANT_LARGE_PAGES)
        library.free(block)


def _addresses_are_scarce() -> bool:
    """Whether reserving them takes them from somebody: a limit, or a system that counts them."""
    limits = (ctypes.c_ulong * 2)()
    c_library().getrlimit(_ADDRESSES, limits)
    unlimited = ctypes.c_ulong(-1).value
    counted = _OVERCOMMIT.exists() and _OVERCOMMIT.read_text().strip() == "2"
    return counted or limits[0] != unlimited


@cache
def c_library() -> ctypes.CDLL:
    """The C library of this process."""
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    library.realloc.restype = ctypes.c_void_p
    library.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library
