"""Writing files so that a crash leaves the old one or the new one, never half of either."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4


def write_atomically(path: str | Path, chunks: Iterable[bytes]) -> None:
    """Write `chunks` to a file beside `path`, then put it in the place of `path`.

    It has the permissions of the file it replaces, else those of any new file.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
