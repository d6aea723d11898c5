"""Writing files in the background: one thread for each file, which the program's end waits for."""

from __future__ import annotations

import atexit
from collections.abc import Iterable
from pathlib import Path
from threading import Thread

from mycelia.core.files import write_atomically
from mycelia.core.logs import logger


class _Write(Thread):
    """One file on its way; `error` says what went wrong."""

    def __init__(self, path: Path, chunks: Iterable[bytes]) -> None:
        super().__init__(name=f"saving {path.name}", daemon=False)
        self.path, self.error = path, None
        self._chunks: Iterable[bytes] = chunks

    error: Exception | None

    def run(self) -> None:
        try:
            write_atomically(self.path, self._chunks)
        except Exception as error:  # told to whoever asks for the file next
            self.error = error
        self._chunks = ()


_writes: dict[Path, _Write] = {}


def write_later(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file while the program goes on; an earlier write of the same file ends first."""
    path = path.absolute()
    error = finish(path)
    if error is not None:
        logger.warning("%s could not be saved the last time: %s", path, error)
    _writes[path] = write = _Write(path, chunks)
    write.start()


def finish(path: Path) -> Exception | None:
    """Wait until a file is written; what went wrong, if something did. It is told once."""
    write = _writes.get(path.absolute())
    if write is None:
        return None
    write.join()
    _writes.pop(write.path, None)
    return write.error


def async_ckpt_thread_status() -> bool:
    """Whether a checkpoint is being written in the background."""
    return any(write.is_alive() for write in _writes.values())


@atexit.register
def _tell_errors() -> None:
    """At the end of the program, what nobody asked about."""
    for path in list(_writes):
        error = finish(path)
        if error is not None:
            logger.error("%s could not be saved: %s", path, error)
