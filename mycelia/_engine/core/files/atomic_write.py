"""Atomic file writes: a crash leaves the old file or the new one, never half of either."""

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
except ImportError:  # not on this system: unfinished files are never removed
    flock = None  # type: ignore[assignment]

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}\.unfinished")
_COMPANION = ".db"  # of a temporary file: the index that is written together with it


def write_atomically(path: str | Path, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to a temporary file, then rename it to `path`.

    The new file has the permissions of the file that it replaces, otherwise the default ones.
    Temporary files of killed writers in the folder are removed.
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
    """The system's error, such as a full disk, with the name of the file that was being written."""
    named = OSError(error.errno, error.strerror, str(target))
    mark_explained(named)
    return named


def unfinished_name(target: Path) -> Path:
    """A unique temporary name in the folder of `target`, for a file that is being written."""
    return target.with_name(f".{target.name}.{uuid4().hex}.unfinished")


def open_locked(temporary: Path) -> BinaryIO:
    """A new file, locked until it is closed or its process ends, so others see it is in use."""
    while True:
        file = temporary.open("x+b")
        if not _lock(file) or temporary.exists():
            return file
        file.close()  # another writer removed it before it was locked


def remove_unfinished(folder: Path) -> None:
    """Remove the temporary files of killed writers; those of running ones are locked."""
    for path in [folder / name for name in os.listdir(folder) if _TEMPORARY.fullmatch(name)]:
        if path.is_symlink() or not path.is_file():
            continue
        try:
            with path.open("r+b") as file:
                if _lock(file):
                    path.unlink()
                    path.with_name(path.name + _COMPANION).unlink(missing_ok=True)
        except OSError:  # already removed, or owned by another user
            continue


def _lock(file: BinaryIO) -> bool:
    """Lock a file unless another process or thread has locked it; returns whether that worked."""
    if flock is None:
        return False
    try:
        flock(file.fileno(), LOCK_EX | LOCK_NB)
    except OSError:  # in use, or the file system has no locks
        return False
    return True
