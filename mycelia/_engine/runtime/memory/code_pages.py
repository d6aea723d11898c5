"""Eviction of the compilers' machine code from memory after compilation.

The libraries of XLA and LLVM have 100 MB and more each. A large program is compiled once and then
runs for hours; the code pages of the compilers would count as memory of this process all the time.
"""

from __future__ import annotations

from pathlib import Path

from mycelia._engine.runtime.memory.allocator import c_library

_MAPS = Path("/proc/self/maps")
_COMPILERS = ("libjax_common.so", "libllvmlite.so")
_CODE = "r-xp"  # read-only code, backed by the file
_NOT_NEEDED = 4  # MADV_DONTNEED


def forget_compilers() -> None:
    """Drop the compilers' code pages, which the system can reload from its file cache."""
    for start, end in _code_of_compilers():
        c_library().madvise(start, end - start, _NOT_NEEDED)


def _code_of_compilers() -> list[tuple[int, int]]:
    """The address ranges of the compilers' code; empty if the system does not report them."""
    if not _MAPS.exists():
        return []
    lines = [line.split(maxsplit=5) for line in _MAPS.read_text().splitlines()]
    found = [line[0].split("-") for line in lines if _is_code_of_a_compiler(*line[1:])]
    return [(int(start, 16), int(end, 16)) for start, end in found]


def _is_code_of_a_compiler(access: str, *about: str) -> bool:
    return access == _CODE and Path(about[-1]).name in _COMPILERS
