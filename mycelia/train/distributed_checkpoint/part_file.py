"""The shard file of one process: a safetensors file with the offset of each shard.

Its metadata contain, under `mycelia.parts`, the rank that wrote it, and the offset and whole shape
of every shard. Its last entry contains the checksums of the others, so that a file can be written
and checksummed with one shard in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import json_value
from mycelia._engine.core.shape import Shape
from mycelia._engine.runtime.distributed.sharded_arrays import LocalShard, Region
from mycelia.train import safetensors_format

PLACES, TEXTS, CHECKSUMS = "mycelia.parts", "mycelia.texts", "mycelia.checksums"


@dataclass(frozen=True)
class CheckpointShard:
    """A shard of an array in a file: its offset in the whole, and its position in the file."""

    file: Path
    name: str
    offset: Shape
    shape: Shape
    whole: Shape
    dtype: Any
    begin: int  # bytes from the start of the file
    checksum: int | None  # None: the file has none

    @property
    def region(self) -> Region:
        return tuple([slice(o, o + n) for o, n in zip(self.offset, self.shape, strict=True)])

    def numbers(self) -> np.ndarray:
        """The values, memory-mapped."""
        if not prod(self.shape):
            return np.empty(self.shape, self.dtype)
        return np.memmap(self.file, self.dtype, "r", self.begin, self.shape or (1,)).reshape(
            self.shape
        )

    def checked(self) -> np.ndarray:
        """The values, checked against the checksum."""
        values = np.array(self.numbers(), order="C")
        if self.checksum is not None and _checksum(values) != self.checksum:
            raise problem(
                ValueError,
                f"the checkpoint is damaged: the values of {self.name} are not those saved",
                got=f"a wrong checksum in {self.file}",
                fix="use an older checkpoint",
            )
        return values


@dataclass(frozen=True)
class CheckpointShardFile:
    """The content of a shard file: shards of arrays, strings, and private entries."""

    path: Path
    rank: int
    processes: int
    parts: tuple[CheckpointShard, ...]
    own: tuple[CheckpointShard, ...]
    texts: dict[str, str]


def encode(
    parts: Iterable[tuple[str, Shape, LocalShard]],
    own: Sequence[tuple[str, np.ndarray]],
    texts: dict[str, str],
    rank: int,
    processes: int,
) -> Iterator[bytes]:
    """The bytes of a file: named shards with whole shapes, and the private entries of the rank.

    Each shard is copied to the host when it is written.
    """
    entries: dict[str, LocalShard] = {}
    places: dict[str, Any] = {}
    for name, whole, part in parts:
        key = _key(name, whole, part)
        entries[key] = part
        places[key] = {"name": name, "offset": list(part.offset), "shape": list(whole)}
    entries |= {name: LocalShard((0,) * array.ndim, array) for name, array in own}
    facts = {"rank": rank, "processes": processes, "places": places}
    metadata = {"format": "ms", PLACES: json.dumps(facts), TEXTS: json.dumps(texts)}
    kinds = {key: (part.numbers.dtype.name, part.shape) for key, part in entries.items()}
    yield safetensors_format.head(
        kinds | {CHECKSUMS: ("uint32", (len(entries),))}, metadata, check=True
    )
    checksums: list[int] = []
    for part in entries.values():
        content = part.read().tobytes()
        checksums.append(crc32(content))
        yield content
    yield np.array(checksums, "<u4").tobytes()


def _key(name: str, whole: Shape, part: LocalShard) -> str:
    """The name of a shard in its file: `weight`, or `weight[0:2,4:8]` if it is not the whole."""
    if part.shape == whole:
        return name
    bounds = zip(part.offset, part.shape, strict=True)
    return f"{name}[{','.join(f'{begin}:{begin + size}' for begin, size in bounds)}]"


def opened(path: Path) -> CheckpointShardFile:
    """Read the entries of a shard file, without the data."""
    try:
        entries, metadata = safetensors_format.places(path)
        facts = json_value(metadata[PLACES])
        sums = np.fromfile(path, "<u4", len(entries) - 1, offset=entries[CHECKSUMS].begin)
        del entries[CHECKSUMS]
        parts: list[CheckpointShard] = []
        own: list[CheckpointShard] = []
        for (key, entry), checksum in zip(entries.items(), sums.tolist(), strict=True):
            place = facts["places"].get(key)
            offset = (0,) * len(entry.shape) if place is None else tuple(place["offset"])
            whole = entry.shape if place is None else tuple(place["shape"])
            name = key if place is None else place["name"]
            part = CheckpointShard(
                path, name, offset, entry.shape, whole, entry.dtype, entry.begin, checksum
            )
            (own if place is None else parts).append(part)
        texts = json_value(metadata[TEXTS])
        found = CheckpointShardFile(
            path, facts["rank"], facts["processes"], tuple(parts), tuple(own), texts
        )
    except FileNotFoundError:
        raise problem(
            ValueError,
            "a file of the checkpoint is missing",
            got=str(path),
            fix="restore it, or use another checkpoint: its shards are not stored elsewhere",
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise problem(
            ValueError,
            f"{path} is damaged, or not a shard file of a checkpoint",
            got=_said(error),
            expected="a file that save_checkpoint(..., integrated_save=False) wrote",
        ) from None
    for part in found.parts:
        _check_place(part)
    return found


def _said(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error).splitlines()[0]


def _check_place(part: CheckpointShard) -> None:
    ends = [o + n for o, n in zip(part.offset, part.shape, strict=False)]
    fits = len(part.offset) == len(part.shape) == len(part.whole)
    if not fits or any(end > size for end, size in zip(ends, part.whole, strict=True)):
        raise problem(
            ValueError,
            f"a shard of {part.name} is outside of the whole array",
            got=f"shape {part.shape} at {part.offset} of {part.whole}, in {part.file}",
        )


def _checksum(array: np.ndarray) -> int:
    """The checksum of a contiguous array, without a copy."""
    return crc32(array.reshape(-1).view(np.uint8).data)
