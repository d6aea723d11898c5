"""The shards of a checkpoint by name, and reading any region of an array from them."""

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
    """The arrays in a set of shard files."""

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
        """The catalogue of a checkpoint index; all arrays are complete."""
        catalogue = cls(opened(file) for file in read_index(path).files)
        catalogue.check()
        return catalogue

    def check(self) -> None:
        """Check that the shards of every array cover it exactly once."""
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
        """The whole array."""
        return self.read(name, tuple([slice(0, size) for size in self.shape(name)]))

    def read(self, name: str, region: Region) -> np.ndarray:
        """A region of an array, read from the shards that overlap it.

        Shards that are read as a whole are checked against their checksums.
        """
        parts = self._parts[name]
        for part in parts:
            if part.region == region:
                return part.checked()
        values = np.empty([bound.stop - bound.start for bound in region], parts[0].dtype)
        for part in parts:
            common = _common(part.region, region)
            if common is None:
                continue
            source = part.checked() if common == part.region else part.numbers()
            values[_relative_to(common, region)] = source[_relative_to(common, part.region)]
        return values

    def own_entries(self, rank: int) -> dict[str, np.ndarray]:
        """The private entries of a process."""
        file = next(file for file in self.files if file.rank == rank)
        return {part.name: part.checked() for part in file.own}


def _common(first: Region, second: Region) -> Region | None:
    """The intersection of two regions."""
    bounds = tuple(
        [
            slice(max(a.start, b.start), min(a.stop, b.stop))
            for a, b in zip(first, second, strict=True)
        ]
    )
    return None if any(bound.start >= bound.stop for bound in bounds) else bounds


def _relative_to(region: Region, outer: Region) -> Region:
    """A region with bounds relative to the start of another one."""
    return tuple(
        [slice(a.start - b.start, a.stop - b.start) for a, b in zip(region, outer, strict=True)]
    )


def _check_agreement(name: str, parts: Sequence[CheckpointShard]) -> None:
    first = parts[0]
    for part in parts[1:]:
        if (part.whole, part.dtype) != (first.whole, first.dtype):
            raise problem(
                ValueError,
                f"the shards of {name} belong to different arrays",
                got=f"{part.dtype}{list(part.whole)} in {part.file}",
                expected=f"{first.dtype}{list(first.whole)}, as in {first.file}",
            )


def _check_overlaps(name: str, parts: Sequence[CheckpointShard]) -> None:
    for first, second in combinations(parts, 2):
        if _common(first.region, second.region) is not None:
            raise problem(
                ValueError,
                f"two shards of {name} overlap",
                got=f"{_where(first)} and {_where(second)}",
            )


def _check_cover(name: str, parts: Sequence[CheckpointShard]) -> None:
    whole = parts[0].whole
    covered = sum(prod(part.shape) for part in parts)
    if covered < prod(whole):
        raise problem(
            ValueError,
            f"shards of {name} are missing",
            got=f"{covered} of {prod(whole)} elements: {'; '.join(map(_where, parts[:4]))}",
            expected=f"all of shape {whole}",
            fix="pass the files of all processes",
        )


def _where(part: CheckpointShard) -> str:
    bounds = ", ".join(f"{bound.start}:{bound.stop}" for bound in part.region)
    return f"[{bounds}] in {part.file}"
