"""The machine code of compilers in memory: read page by page while they compile, then not needed.

XLA's and LLVM's libraries are 100 MB and more each. A large program is compiled once and then run
for hours; what was read of the compilers would count as this process's memory all the time.
"""

from __future__ import annotations

from pathlib import Path

from mycelia._engine.runtime.memory.allocator import c_library

_MAPS = Path("/proc/self/maps")
_COMPILERS = ("libjax_common.so", "libllvmlite.so")
_CODE = "r-xp"  # read, executed and never written: the file has all of it
_NOT_NEEDED = 4  # MADV_DONTNEED


def forget_compilers() -> None:
    """Leave the code of compilers to the system's file cache; what is called is found there."""
    for start, end in _code_of_compilers():
        c_library().madvise(start, end - start, _NOT_NEEDED)


def _code_of_compilers() -> list[tuple[int, int]]:
    """From where to where it lies; nothing where the system does not tell."""
    if not _MAPS.exists():
        return []
    lines = [line.split(maxsplit=5) for line in _MAPS.read_text().splitlines()]
    found = [line[0].split("-") for line in lines if _is_code_of_a_compiler(*line[1:])]
    return [(int(start, 16), int(end, 16)) for start, end in found]


def _is_code_of_a_compiler(access: str, *about: str) -> bool:
    return access == _CODE and Path(about[-1]).name in _COMPILERS
