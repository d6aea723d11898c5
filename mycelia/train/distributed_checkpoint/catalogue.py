"""All parts of a checkpoint by name: they cover each array once, and any region can be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape
from mycelia._engine.runtime.distributed.sharded_arrays import Region
from mycelia.train.distributed_checkpoint.index import read_index
from mycelia.train.distributed_checkpoint.part_file import (
    CheckpointShard,
    CheckpointShardFile,
    opened,
)


class ShardCatalogue:
    """The arrays of some files, which hold parts of them."""

    def __init__(self, files: Iterable[CheckpointShardFile]) -> None:
        self.files = list(files)
        self._parts: dict[str, list[CheckpointShard]] = {}
        self.texts: dict[str, str] = {}
        for file in self.files:
            self.texts |= file.texts
            for part in file.parts:
                self._parts.setdefault(part.name, []).append(part)

    @classmethod
    def of_index(cls, path: Path) -> ShardCatalogue:
        """The arrays of a checkpoint by its index; every array is complete."""
        found = cls(opened(file) for file in read_index(path).files)
        found.check()
        return found

    def check(self) -> None:
        """Every array is covered by its parts, once."""
        for name, parts in self._parts.items():
            _check_agreement(name, parts)
            _check_overlaps(name, parts)
            _check_cover(name, parts)

    @property
    def names(self) -> list[str]:
        return list(self._parts)

    def shape(self, name: str) -> Shape:
        return self._parts[name][0].whole

    def dtype(self, name: str) -> Any:
        return self._parts[name][0].dtype

    def whole(self, name: str) -> np.ndarray:
        """All of an array."""
        return self.read(name, tuple([slice(0, size) for size in self.shape(name)]))

    def read(self, name: str, region: Region) -> np.ndarray:
        """A region of an array, from the parts that lie in it; the rest of the files stays unread.

        Parts that are read as a whole are checked against their checksums.
        """
        parts = self._parts[name]
        for part in parts:
            if part.region == region:
                return part.checked()
        found = np.empty([one.stop - one.start for one in region], parts[0].dtype)
        for part in parts:
            common = _common(part.region, region)
            if common is None:
                continue
            numbers = part.checked() if common == part.region else part.numbers()
            found[_seen_from(common, region)] = numbers[_seen_from(common, part.region)]
        return found

    def own_entries(self, rank: int) -> dict[str, np.ndarray]:
        """What a process had saved for itself."""
        file = next(file for file in self.files if file.rank == rank)
        return {part.name: part.checked() for part in file.own}


def _common(one: Region, other: Region) -> Region | None:
    """Where two regions overlap."""
    found = tuple(
        [slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(one, other, strict=True)]
    )
    return None if any(part.start >= part.stop for part in found) else found


def _seen_from(region: Region, outer: Region) -> Region:
    """A region of the whole, counted from where another one begins."""
    return tuple(
        [slice(a.start - b.start, a.stop - b.start) for a, b in zip(region, outer, strict=True)]
    )


def _check_agreement(name: str, parts: Sequence[CheckpointShard]) -> None:
    first = parts[0]
    for part in parts[1:]:
        if (part.whole, part.dtype) != (first.whole, first.dtype):
            raise problem(
                ValueError,
                f"the parts of {name} belong to different arrays",
                got=f"{part.dtype}{list(part.whole)} in {part.file}",
                expected=f"{first.dtype}{list(first.whole)}, as in {first.file}",
            )


def _check_overlaps(name: str, parts: Sequence[CheckpointShard]) -> None:
    for one, other in combinations(parts, 2):
        if _common(one.region, other.region) is not None:
            raise problem(
                ValueError,
                f"two parts of {name} overlap: it is not known which of them counts",
                got=f"{_where(one)} and {_where(other)}",
            )


def _check_cover(name: str, parts: Sequence[CheckpointShard]) -> None:
    whole = parts[0].whole
    there = sum(prod(part.shape) for part in parts)
    if there < prod(whole):
        raise problem(
            ValueError,
            f"parts of {name} are missing",
            got=f"{there} of {prod(whole)} numbers: {'; '.join(map(_where, parts[:4]))}",
            expected=f"all of shape {whole}",
            fix="give the files of all processes",
        )


def _where(part: CheckpointShard) -> str:
    bounds = ", ".join(f"{one.start}:{one.stop}" for one in part.region)
    return f"[{bounds}] in {part.file}"
