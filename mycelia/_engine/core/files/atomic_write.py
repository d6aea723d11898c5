"""Writing files so that a crash leaves the old one or the new one, never half of either."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from mycelia._engine.core.tracebacks import mark_explained

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # not on this system: nothing left behind is ever removed
    flock = None  # type: ignore[assignment]

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}\.unfinished")
_COMPANION = ".db"  # of a temporary file: the index that is written together with it


def write_atomically(path: str | Path, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to a file beside `path`, then put it in the place of `path`.

    It has the permissions of the file it replaces, else those of any new file. What killed writers
    left in the folder is removed.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_unfinished(target.parent)
    temporary = unfinished_name(target)
    try:
        with open_locked(temporary) as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            raise _of_file(error, target) from None
        raise


def _of_file(error: OSError, target: Path) -> OSError:
    """The system's error, such as a full disk, with the file that could not be written."""
    named = OSError(error.errno, error.strerror, str(target))
    mark_explained(named)
    return named


def unfinished_name(target: Path) -> Path:
    """A name of its own beside `target`, for the time in which a file is being written."""
    return target.with_name(f".{target.name}.{uuid4().hex}.unfinished")


def open_locked(temporary: Path) -> BinaryIO:
    """A new file, locked until it is closed or its process ends: others see that it is in use."""
    while True:
        file = temporary.open("x+b")
        if not _lock(file) or temporary.exists():
            return file
        file.close()  # another writer removed it before it was locked


def remove_unfinished(folder: Path) -> None:
    """Remove the files of writers that have been killed; those of living ones are locked."""
    for path in [folder / name for name in os.listdir(folder) if _TEMPORARY.fullmatch(name)]:
        if path.is_symlink() or not path.is_file():
            continue
        try:
            with path.open("r+b") as file:
                if _lock(file):
                    path.unlink()
                    path.with_name(path.name + _COMPANION).unlink(missing_ok=True)
        except OSError:  # gone meanwhile, or of another user
            continue


def _lock(file: BinaryIO) -> bool:
    """Lock a file unless another process or thread has it; whether that worked."""
    if flock is None:
        return False
    try:
        flock(file.fileno(), LOCK_EX | LOCK_NB)
    except OSError:  # in use, or the file system knows no locks
        return False
    return True
