"""Room for a large block of memory that is asked for again and again."""

from __future__ import annotations

from time import perf_counter, sleep

from mycelia._engine.runtime.memory.allocator import c_library, release_free_memory

_ALIGNMENT = 128  # bytes that XLA asks for besides, to have the block where it wants it
_MARGIN = 1 << 16  # bytes
_HEAD = 8  # bytes that the C library keeps before a block
_PATIENCE, _MOMENT = 0.02, 0.0002  # seconds


class HugePagePool:
    """Memory for a block that another thread gets when a run begins, and frees when it is over.

    That thread gets the same memory again only if it is free in time, and whole. Some small block
    may have taken its last bytes, which are free while a run lasts; then the large one would lie
    elsewhere from there on, and twice the memory be used. So a margin before the large block is
    ours, and gives what is missing.
    """

    def __init__(self, size: int) -> None:
        self._size = size + _ALIGNMENT
        self._margin: int | None = None  # its address

    def prepare(self) -> None:
        """Return when the next block is free where the last one was."""
        place, end = self._margin, perf_counter() + _PATIENCE
        self.close()
        while place is not None and not self._is_near(place, self._try(0)):
            if perf_counter() > end:
                release_free_memory()  # what is free, but not whole
                place = None
            else:
                sleep(_MOMENT)
        for margin in range(_MARGIN, 0, -_ALIGNMENT):
            found = self._try(margin)
            if place is None or self._is_near(place, found):
                break
        self._keep(margin)

    def close(self) -> None:
        """Give the margin back."""
        margin, self._margin = self._margin, None  # before: an interruption must not free it twice
        c_library().free(margin)

    __del__ = close

    def _try(self, margin: int) -> int:
        """Where a block with a margin would lie; nobody writes to it, so it takes no memory."""
        block = c_library().malloc(self._size + margin)
        c_library().free(block)
        return block or 0

    def _keep(self, margin: int) -> None:
        """Take a block with a margin, and leave all but the margin.

        The rest begins where XLA wants its block: no bytes before it are left for small ones.
        """
        block = c_library().malloc(self._size + margin) or 0
        margin -= (block + margin + _HEAD) % _ALIGNMENT
        self._margin = c_library().realloc(block, margin) if block else None

    def _is_near(self, place: int, found: int) -> bool:
        """Whether two blocks would overlap."""
        return abs(place - found) < self._size // 2
