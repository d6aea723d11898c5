"""A pool for one large block of memory that is allocated in every run."""

from __future__ import annotations

from time import perf_counter, sleep

from mycelia._engine.runtime.memory.allocator import c_library, release_free_memory

_ALIGNMENT = 128  # extra bytes that XLA allocates to align the block
_MARGIN = 1 << 16  # bytes
_HEAD = 8  # bytes of the C library's header before a block
_PATIENCE, _MOMENT = 0.02, 0.0002  # seconds


class HugePagePool:
    """Memory for a block that another thread allocates when a run starts, and frees at its end.

    That thread receives the same memory again only if it is free in time and contiguous. During a
    run, a small block may take the free bytes behind it; then the large one would be allocated
    elsewhere, and memory use would double. So the pool owns a margin before the large block, which
    provides the missing bytes.
    """

    def __init__(self, size: int) -> None:
        self._size = size + _ALIGNMENT
        self._margin: int | None = None  # its address

    def prepare(self) -> None:
        """Wait until the memory of the last block is free for the next one."""
        place, end = self._margin, perf_counter() + _PATIENCE
        self.close()
        while place is not None and not self._is_near(place, self._try(0)):
            if perf_counter() > end:
                release_free_memory()  # free, but not contiguous
                place = None
            else:
                sleep(_MOMENT)
        for margin in range(_MARGIN, 0, -_ALIGNMENT):
            found = self._try(margin)
            if place is None or self._is_near(place, found):
                break
        self._keep(margin)

    def close(self) -> None:
        """Free the margin."""
        margin, self._margin = self._margin, None  # first: an interruption must not free it twice
        c_library().free(margin)

    __del__ = close

    def _try(self, margin: int) -> int:
        """The address of a trial block with a margin; untouched, so it uses no physical memory."""
        block = c_library().malloc(self._size + margin)
        c_library().free(block)
        return block or 0

    def _keep(self, margin: int) -> None:
        """Allocate a block with a margin, and free all but the margin.

        The rest starts at the address that XLA needs: no bytes before it are left for small blocks.
        """
        block = c_library().malloc(self._size + margin) or 0
        margin -= (block + margin + _HEAD) % _ALIGNMENT
        self._margin = c_library().realloc(block, margin) if block else None

    def _is_near(self, place: int, found: int) -> bool:
        """Whether two blocks would overlap."""
        return abs(place - found) < self._size // 2
