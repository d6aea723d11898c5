"""The file of one process: a safetensors file that says of each part where it belongs.

Its metadata have, under `mycelia.parts`, the rank that wrote it and the offset and the whole shape
of every part. Its last entry holds a checksum of each of the others: so a file can be written while
it is checked, with one part in memory.
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
    """A part of an array in a file: where it begins in the whole, and where in the file."""

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
        """The numbers, read when they are looked at."""
        if not prod(self.shape):
            return np.empty(self.shape, self.dtype)
        return np.memmap(self.file, self.dtype, "r", self.begin, self.shape or (1,)).reshape(
            self.shape
        )

    def checked(self) -> np.ndarray:
        """All numbers, of which the checksum is right."""
        found = np.array(self.numbers(), order="C")
        if self.checksum is not None and _checksum(found) != self.checksum:
            raise problem(
                ValueError,
                f"the checkpoint is damaged: the numbers of {self.name} are not those saved",
                got=f"another checksum in {self.file}",
                fix="use an older checkpoint",
            )
        return found


@dataclass(frozen=True)
class CheckpointShardFile:
    """What a file of one process holds: parts of arrays, texts, and entries of its own."""

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
    """The bytes of a file: parts of arrays with names and whole shapes, and what is the rank's own.

    The numbers of a part are brought to the host when its turn comes.
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
    """How a part is called in its file: `weight`, or `weight[0:2,4:8]` if it is not the whole."""
    if part.shape == whole:
        return name
    bounds = zip(part.offset, part.shape, strict=True)
    return f"{name}[{','.join(f'{begin}:{begin + size}' for begin, size in bounds)}]"


def opened(path: Path) -> CheckpointShardFile:
    """What a file says it holds; the numbers are left where they are."""
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
            "a file of the checkpoint is missing: what one process wrote",
            got=str(path),
            fix="put it back, or use another checkpoint: none of its parts is elsewhere",
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise problem(
            ValueError,
            f"{path} is damaged, or no part of a checkpoint",
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
            f"a part of {part.name} does not lie inside the whole",
            got=f"shape {part.shape} at {part.offset} of {part.whole}, in {part.file}",
        )


def _checksum(array: np.ndarray) -> int:
    """The checksum of an array whose numbers lie one behind the other, without a copy."""
    return crc32(array.reshape(-1).view(np.uint8).data)
