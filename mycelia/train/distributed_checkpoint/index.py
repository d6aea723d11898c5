"""The index of a sharded checkpoint, which is written after all shards.

A checkpoint `folder/net` consists of `folder/net.index.json` and
`folder/rank_<r>/net@<g>.safetensors` for each process. Every save uses a new number g, so files of
an existing index are never overwritten: a crash leaves the previous index and all of its files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.atomic_write import remove_unfinished as remove_temporary
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.core.files.text_files import json_value
from mycelia._engine.core.process_groups import world

INDEX_SUFFIX = ".index.json"
_FORMAT = "mycelia parts 1"
_NAME = re.compile(r"rank_\d+/[^/\\\0]+\.safetensors")
_WHOLE_SUFFIXES = (".ckpt", ".safetensors")


@dataclass(frozen=True)
class CheckpointIndex:
    """The files of a checkpoint, one for each process, with their sizes in bytes."""

    path: Path
    generation: int
    sizes: dict[str, int]

    @property
    def files(self) -> list[Path]:
        return [self.path.parent / name for name in self.sizes]

    def content(self) -> bytes:
        """The bytes of the index file."""
        facts = {"format": _FORMAT, "generation": self.generation, "files": self.sizes}
        return json.dumps(facts, indent=1).encode() + b"\n"


def is_index(path: Path) -> bool:
    """Whether a path has the name of an index."""
    return path.name.endswith(INDEX_SUFFIX)


def index_path(path: Path) -> Path:
    """The index of a checkpoint saved at `path`.

    For scripts with a separate folder `rank_<r>` per process, it is in the parent folder.
    """
    name = path.name
    for suffix in (*_WHOLE_SUFFIXES, INDEX_SUFFIX):
        name = name.removesuffix(suffix)
    return home(path.parent) / f"{name}{INDEX_SUFFIX}"


def home(folder: Path) -> Path:
    """The folder of sharded checkpoints, for a folder that may belong to one rank."""
    is_own = world().size > 1 and folder.name == f"rank_{world().rank}"
    return folder.parent if is_own else folder


def part_path(index: Path, rank: int, generation: int) -> Path:
    """The shard file of a process."""
    return index.parent / f"rank_{rank}" / f"{_stem(index)}@{generation}.safetensors"


def next_generation(index: Path) -> int:
    """A generation number that no file of this checkpoint uses."""
    return 1 + max([number for _, number in _part_files(index)], default=-1)


def write_index(index: Path, generation: int, processes: int) -> None:
    """Publish the shards of all processes as a checkpoint, and remove those of earlier saves."""
    write_atomically(index, [made(index, generation, processes).content()])
    remove_others(index, generation)


def made(index: Path, generation: int, processes: int) -> CheckpointIndex:
    """The index of existing shard files."""
    files = [part_path(index, rank, generation) for rank in range(processes)]
    names = [str(file.relative_to(index.parent)) for file in files]
    return CheckpointIndex(
        index, generation, {n: f.stat().st_size for n, f in zip(names, files, strict=True)}
    )


def read_index(path: Path) -> CheckpointIndex:
    """Read an index, and check that all of its files exist with the expected sizes."""
    index = _parsed(path)
    for file, size in zip(index.files, index.sizes.values(), strict=True):
        _check_file(index, file, size)
    return index


def _parsed(path: Path) -> CheckpointIndex:
    try:
        content = json_value(path.read_bytes())
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise ValueError(f"it is not an object of the format {_FORMAT!r}")
        files = content.get("files")
        if not isinstance(files, dict):
            raise ValueError("it lists no files")
        sizes = {_checked_name(name): _checked_count(size) for name, size in files.items()}
        return CheckpointIndex(path, _checked_count(content.get("generation")), sizes)
    except (OSError, ValueError) as error:
        raise problem(
            ValueError,
            "the index of the checkpoint cannot be read",
            got=f"{path}: {str(error).splitlines()[0]}",
            expected="a file that save_checkpoint(..., integrated_save=False) wrote",
        ) from None


def _checked_name(name: Any) -> str:
    """Check a file name in an index: it must be in the folder of a rank."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"it names {name!r}, which is not a file of a rank (rank_0/...)")
    return name


def _checked_count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"it has {number!r:.80} instead of a count")
    return number


def _check_file(index: CheckpointIndex, file: Path, size: int) -> None:
    if not file.resolve().is_relative_to(index.path.parent.resolve()):
        raise problem(
            ValueError,
            f"a file of the checkpoint {index.path} is outside of its folder",
            got=f"{file}, a link to {file.resolve()}",
            expected=f"files in {index.path.parent}",
            fix="copy the file there, instead of a link",
        )
    if not file.is_file():
        raise problem(
            ValueError,
            f"a file of the checkpoint {index.path} is missing",
            got=f"no {file}",
            expected=f"the files of {len(index.sizes)} processes",
            fix="restore it, or use another checkpoint: its shards are not stored elsewhere",
        )
    if file.stat().st_size != size:
        raise problem(
            ValueError,
            f"a file of the checkpoint {index.path} is truncated, or was replaced",
            got=f"{file} of {file.stat().st_size} bytes",
            expected=f"{size} bytes",
        )


def found_index(path: Path) -> Path:
    """The index for a path: the path itself, or the only index in a folder."""
    if not path.is_dir():
        return path
    indices = sorted(path.glob(f"*{INDEX_SUFFIX}"))
    if len(indices) == 1:
        return indices[0]
    raise problem(
        ValueError,
        f"load_checkpoint: the folder {path} contains {len(indices) or 'no'} sharded checkpoints",
        got=", ".join(file.name for file in indices[:5]),
        expected=f"one file *{INDEX_SUFFIX}, which is written after the shards of all processes",
        fix="pass the index of the checkpoint" if indices else "check the path",
    )


def remove(index: Path) -> None:
    """Remove a checkpoint, the index first, so that no partial checkpoint remains."""
    index.unlink(missing_ok=True)
    remove_others(index, None)


def remove_older(index: Path) -> None:
    """Remove the shards of saves before the current index."""
    if index.exists():
        newest = _parsed(index).generation
        for file, number in list(_part_files(index)):
            if number < newest:
                file.unlink(missing_ok=True)


def remove_others(index: Path, generation: int | None) -> None:
    """Remove the shards of all saves of a checkpoint except one."""
    for file, number in list(_part_files(index)):
        if number != generation:
            file.unlink(missing_ok=True)


def remove_unfinished(folder: Path, name: str) -> None:
    """Remove files that killed processes left for checkpoints whose names begin with `name`."""
    pattern = re.compile(rf"(?P<stem>{re.escape(name)}.*)@\d+\.safetensors")
    for own in [folder, *folder.glob("rank_*")]:
        if own.is_dir():
            remove_temporary(own)
    for file in list(folder.glob("rank_*/*")):
        part = pattern.fullmatch(file.name)
        is_orphan = part is not None and not (folder / f"{part['stem']}{INDEX_SUFFIX}").exists()
        if is_orphan:
            file.unlink(missing_ok=True)


def _part_files(index: Path) -> Iterator[tuple[Path, int]]:
    """The shard files of all saves of a checkpoint, with their generation numbers."""
    pattern = re.compile(rf"{re.escape(_stem(index))}@(\d+)\.safetensors")
    for folder in index.parent.glob("rank_*"):
        for file in folder.iterdir() if folder.is_dir() else ():
            match = pattern.fullmatch(file.name)
            if match is not None:
                yield file, int(match[1])


def _stem(index: Path) -> str:
    return index.name.removesuffix(INDEX_SUFFIX)
