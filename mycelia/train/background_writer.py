"""Background file writes: one thread per file, which the end of the program waits for."""

from __future__ import annotations

import atexit
from collections.abc import Iterable
from pathlib import Path
from threading import Thread

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.core.pending_checks import raise_before_next_step
from mycelia._engine.core.warn_once import logger


class _BackgroundWrite(Thread):
    """One file that is being written; `error` is the exception if that failed."""

    def __init__(self, path: Path, chunks: Iterable[bytes]) -> None:
        super().__init__(name=f"saving {path.name}", daemon=False)
        self.path, self.error, self.is_claimed = path, None, False
        self._chunks: Iterable[bytes] = chunks

    error: Exception | None

    def run(self) -> None:
        try:
            write_atomically(self.path, self._chunks)
        except Exception as error:  # raised when the file is next used, or by the next step
            self.error = error
            raise_before_next_step(self)
        self._chunks = ()

    def is_ready(self) -> bool:
        """Whether the write has finished or failed."""
        return not self.is_alive()

    def ask(self) -> None:
        """Raise if the write failed and nobody has claimed its error."""
        raise_failed()


_writes: dict[Path, _BackgroundWrite] = {}


def write_later(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file in the background; waits for an earlier write of the same file first."""
    path = path.absolute()
    earlier = _writes.get(path)
    if earlier is not None:
        earlier.join()
        raise_failed()
    _writes[path] = write = _BackgroundWrite(path, chunks)
    write.start()


def finish(path: Path) -> Exception | None:
    """Wait until a file is written; returns its error, if any. Errors are reported once."""
    write = _writes.get(path.absolute())
    if write is None:
        return None
    write.join()
    _writes.pop(write.path, None)
    return write.error


def claim(path: Path) -> None:
    """Take responsibility for the error of a write: `raise_failed` then ignores it."""
    write = _writes.get(path.absolute())
    if write is not None:
        write.is_claimed = True


def is_over(path: Path) -> bool:
    """Whether no background write of a file is in progress."""
    write = _writes.get(path.absolute())
    return write is None or not write.is_alive()


def raise_failed() -> None:
    """Raise the error of a failed background write that nobody claimed; reported once."""
    if not _writes:
        return
    for write in list(_writes.values()):
        if write.error is not None and not write.is_claimed:
            _writes.pop(write.path, None)
            kind = OSError if isinstance(write.error, OSError) else RuntimeError
            raise problem(
                kind,
                f"{write.path} could not be saved in the background",
                got=str(write.error),
                fix="free disk space, or save to another folder; the previous file is intact",
            ) from write.error


def async_ckpt_thread_status() -> bool:
    """Whether a checkpoint is being written in the background."""
    return any(write.is_alive() for write in _writes.values())


@atexit.register
def _log_errors() -> None:
    """Log unreported errors at the end of the program."""
    for path in list(_writes):
        error = finish(path)
        if error is not None:
            logger.error("%s could not be saved: %s", path, error)
