"""Checkpoint files in a folder: their names, their age, and leftovers of crashes."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.process_groups import world
from mycelia.train.distributed_checkpoint.index import (
    INDEX_SUFFIX,
    is_index,
    remove,
    remove_unfinished,
)

_INDEX = re.escape(INDEX_SUFFIX.removeprefix("."))


def made_directory(owner: str, argument: str, path: Any) -> str:
    """The absolute path of a directory, which is created if needed."""
    if not isinstance(path, str):
        raise wrong_type(owner, argument, path, "str")
    if not path.strip():
        raise wrong_value(owner, argument, path, "a path, not blank")
    directory = os.path.realpath(path)
    os.makedirs(directory, exist_ok=True)
    return directory


def checked_prefix(prefix: Any) -> str:
    """Check the prefix of file names."""
    if not isinstance(prefix, str) or "/" in prefix:
        raise problem(
            ValueError,
            "ModelCheckpoint: prefix cannot begin a file name",
            got=repr(prefix),
            expected="a str without '/', or a function that returns one",
        )
    return prefix


def unused_prefix(directory: str, prefix: str) -> str:
    """The prefix, with a number appended if files of earlier runs use it."""
    suffixes = rf"(?:ckpt|safetensors|{_INDEX})"
    pattern = re.compile(rf"{re.escape(prefix)}(?:_(\d+))?-\d+_\d+.*\.{suffixes}")
    matches = [pattern.fullmatch(name) for name in os.listdir(directory)]
    numbers = [int(match[1] or 0) for match in matches if match is not None]
    return f"{prefix}_{max(numbers) + 1}" if numbers else prefix


def saved_files(directory: str, prefix: str, suffix: str) -> list[Path]:
    """The checkpoints with a prefix, whole ones and indices of shards, the oldest first."""
    pattern = re.compile(rf"{re.escape(prefix)}-[^a-zA-Z]*\.(?:{suffix}|{_INDEX})")
    files: list[tuple[int, str, Path]] = []
    for file in Path(directory).iterdir():
        if pattern.fullmatch(file.name):
            with suppress(FileNotFoundError):  # another process has just removed it
                files.append((file.stat().st_mtime_ns, file.name, file))
    return [file for *_, file in sorted(files)]


def remove_saved(file: Path) -> None:
    """Remove a checkpoint with all its shards, unless another process has done so."""
    if is_index(file):
        remove(file)
    else:
        file.unlink(missing_ok=True)


def remove_leftovers(directory: str | Path, name: str) -> None:
    """Remove temporary files that killed processes left for names that begin with `name`."""
    pattern = re.compile(rf"\.{re.escape(name)}.*\.[0-9a-f]{{32}}")
    for file in Path(directory).iterdir():
        if pattern.fullmatch(file.name):
            file.unlink(missing_ok=True)
    if world().rank == 0:
        remove_unfinished(Path(directory), name)
