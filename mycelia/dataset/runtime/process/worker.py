"""A worker process, and the message channel between it and its parent.

The worker runs only this file, so it imports no more than the user's function needs.
"""

from __future__ import annotations

import mmap
import os
import pickle
import random
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

_LENGTH = struct.Struct("<Q")
_PAGE = mmap.ALLOCATIONGRANULARITY
_LARGE = 8 * 2**20  # message size in bytes from which memory is released after receiving
_FREE = getattr(mmap, "MADV_REMOVE", None)  # None if the system lacks it


class MessageChannel:
    """One direction of messages: small parts through a pipe, arrays through shared memory.

    The memory is an anonymous file, so nothing is left behind however a process ends.
    """

    def __init__(self, pipe: int, memory: int) -> None:
        self.pipe = pipe
        self.memory = memory
        self._map: mmap.mmap | None = None

    def send(self, message: Any, dumps: Callable[..., bytes] = pickle.dumps) -> None:
        """Write a message; the previous one must have been received."""
        buffers: list[pickle.PickleBuffer] = []
        head = dumps(message, protocol=5, buffer_callback=buffers.append)
        views = [buffer.raw() for buffer in buffers]
        spans = []
        end = 0
        for view in views:
            spans.append((end, end + view.nbytes))
            end = -(-(end + view.nbytes) // 64) * 64
        if end:
            memory = self._mapped(end)
            for (begin, stop), view in zip(spans, views):
                memory[begin:stop] = view
        packed = pickle.dumps((spans, end, head))
        _write(self.pipe, _LENGTH.pack(len(packed)) + packed)

    def receive(self) -> Any:
        """Read a message, with copied arrays; EOFError if the other end is gone."""
        (length,) = _LENGTH.unpack(_read(self.pipe, _LENGTH.size))
        spans, end, head = pickle.loads(_read(self.pipe, length))
        buffers = self._copies(spans, end) if end else []
        return pickle.loads(head, buffers=buffers)

    def _copies(self, spans: Sequence[tuple[int, int]], end: int) -> list[bytearray]:
        """The buffers of a message, copied out of shared memory."""
        memory = self._mapped(end)
        with memoryview(memory) as view:
            copies = [bytearray(view[begin:stop]) for begin, stop in spans]
        if end >= _LARGE and _FREE is not None:
            memory.madvise(_FREE)
        return copies

    def _mapped(self, size: int) -> mmap.mmap:
        if self._map is None or len(self._map) < size:
            if os.fstat(self.memory).st_size < size:
                os.ftruncate(self.memory, -(-2 * size // _PAGE) * _PAGE)
            self._map = mmap.mmap(self.memory, os.fstat(self.memory).st_size)
        return self._map

    def close(self) -> None:
        """Release the pipe and the memory."""
        if self._map is not None:
            self._map.close()
        os.close(self.pipe)
        os.close(self.memory)


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


def _read(pipe: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(pipe, min(size, 2**20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def run_rows(function: Any, rows: Sequence[tuple[Any, ...]], seeds: Sequence[int]) -> Any:
    """The results for all rows, or the index, type, text, and traceback of the first error."""
    made = []
    for position, (row, seed) in enumerate(zip(rows, seeds)):
        _seed(seed)
        try:
            made.append(function(*row))
        except Exception as error:
            return position, type(error).__name__, str(error), traceback.format_exc()
    return made


def _seed(seed: int) -> None:
    """Seed Python's and NumPy's generators by row, so results do not depend on the process."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


def main() -> None:
    """Answer requests until the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = (
        MessageChannel(int(pipe), int(memory)) for pipe, memory in _pairs(sys.argv[1:])
    )
    sys.path[:] = requests.receive()
    function: Any = None
    try:
        while True:
            message = requests.receive()
            if isinstance(message, bytes):
                function, failure = _loaded(message)
                replies.send(failure)
            else:
                replies.send(run_rows(function, *message))
            del message  # its rows may be large
    except (EOFError, BrokenPipeError):
        os._exit(0)


def _loaded(function: bytes) -> tuple[Any, str]:
    """Unpickle a function; also returns the traceback if an import fails."""
    try:
        return pickle.loads(function), ""
    except Exception:
        return None, traceback.format_exc()


def _pairs(values: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(values[0::2], values[1::2]))


if __name__ == "__main__":
    main()
