"""Sampler nodes: immutable descriptions of which rows of a source are read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mycelia._engine.core.errors import problem


@dataclass(frozen=True, eq=False, kw_only=True)
class SamplerNode:
    """Chooses among the rows of the source, or among those that the child chose."""

    sampler_name: ClassVar[str]
    num_samples: int | None = None
    child: SamplerNode | None = None
    number: int = field(default=0, metadata={"json": False})

    def __post_init__(self) -> None:
        if self.num_samples is not None and self.num_samples < 0:
            raise problem(
                ValueError,
                "num_samples: out of range",
                got=str(self.num_samples),
                expected="0 or more, in 64 bits",
            )

    def count(self, size: int) -> int:
        """How many rows are chosen if the source has `size` rows."""
        available = self.child.count(size) if self.child is not None else size
        chosen = self.count_of(available)
        return chosen if not self.num_samples else min(chosen, self.num_samples)

    def count_of(self, available: int) -> int:
        """The same, ignoring `num_samples` and the child."""
        return available


@dataclass(frozen=True, eq=False, kw_only=True)
class SequentialSamplerNode(SamplerNode):
    """Rows in the order of the source, from `start_index` on."""

    sampler_name = "SequentialSampler"
    start_index: int = 0

    def count_of(self, available: int) -> int:
        return max(available - self.start_index, 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class RandomSamplerNode(SamplerNode):
    """Rows in a new random order every epoch."""

    sampler_name = "RandomSampler"
    replacement: bool = False
    reshuffle_each_epoch: bool = True

    def count_of(self, available: int) -> int:
        if self.replacement and self.num_samples:
            return self.num_samples
        return available


@dataclass(frozen=True, eq=False, kw_only=True)
class DistributedSamplerNode(SamplerNode):
    """Every `num_shards`-th row, with the same number of rows for each shard."""

    sampler_name = "DistributedSampler"
    num_shards: int
    shard_id: int
    shuffle: bool = True
    offset: int = -1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_shards <= 0:
            raise problem(
                RuntimeError,
                "DistributedSampler: num_shards is out of range",
                got=str(self.num_shards),
                expected="1 or more",
            )
        if not 0 <= self.shard_id < self.num_shards:
            raise problem(
                RuntimeError,
                "DistributedSampler: shard_id is out of range",
                got=f"shard_id={self.shard_id}, num_shards={self.num_shards}",
                expected=f"0 to {self.num_shards - 1}",
            )
        if self.offset > self.num_shards:
            raise problem(
                RuntimeError,
                "DistributedSampler: offset is out of range",
                got=f"offset={self.offset}",
                expected=f"at most num_shards({self.num_shards})",
            )

    def count_of(self, available: int) -> int:
        if self.offset == -1:
            return math.ceil(available / self.num_shards)
        return max(math.ceil((available - self.first) / self.num_shards), 1)

    @property
    def first(self) -> int:
        """The first row of the shard when rows are dealt starting at the shard `offset`."""
        first = self.shard_id - self.offset
        return first + self.num_shards if first < 0 else first


@dataclass(frozen=True, eq=False, kw_only=True)
class PKSamplerNode(SamplerNode):
    """`num_val` rows from each of several classes."""

    sampler_name = "PKSampler"
    num_val: int
    num_class: int | None = None
    shuffle: bool = False
    class_column: str = "label"
    classes: int = field(default=0, metadata={"json": False})  # number of classes in the source

    def count_of(self, available: int) -> int:
        return self.num_val * min(self.num_class or self.classes, self.classes)


@dataclass(frozen=True, eq=False, kw_only=True)
class SubsetSamplerNode(SamplerNode):
    """The rows `indices`, in that order or in a new random order every epoch."""

    sampler_name = "SubsetSampler"
    indices: tuple[int, ...]
    shuffle: bool = False

    def count_of(self, available: int) -> int:
        return len(self.indices)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedSamplerNode(SamplerNode):
    """Rows drawn with a probability proportional to their weight."""

    sampler_name = "WeightedRandomSampler"
    weights: tuple[float, ...]
    replacement: bool = True

    def count_of(self, available: int) -> int:
        return self.num_samples or len(self.weights)


@dataclass(frozen=True, eq=False, kw_only=True)
class UserSamplerNode(SamplerNode):
    """Rows chosen by a user's iterable, iterated again every epoch.

    The count is `num_samples`, else the iterable's length; without both, all that it yields.
    """

    sampler_name = "IterSampler"
    source: Any = field(metadata={"json": False})
    resets: bool = field(default=False, metadata={"json": False})  # between epochs

    def count(self, size: int) -> int:
        self.tell(size if self.child is None else self.child.count(size))
        told = self.declared_count()
        return sum(1 for _ in self.source) if told is None else told

    def declared_count(self) -> int | None:
        """The number of rows that the sampler declares."""
        if self.num_samples is not None:
            return self.num_samples
        return len(self.source) if hasattr(self.source, "__len__") else None

    def tell(self, size: int) -> None:
        """Set the dataset size on a user's sampler."""
        if hasattr(self.source, "dataset_size"):
            self.source.dataset_size = size


@dataclass(frozen=True, eq=False, kw_only=True)
class FileOrderNode(SamplerNode):
    """Rows file by file, with the files or the rows within each shuffled.

    Rows that belong to no file (padded ones) come last.
    """

    sampler_name = "FileOrderSampler"
    sizes: tuple[int, ...] | None = None  # rows per file; None if the reader knows them
    mixes_files: bool = False
    mixes_rows: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class InterleavedFilesNode(SamplerNode):
    """Rows of files that are read in parallel lanes: one row of each lane in turn.

    Each file goes to the next lane. A shard has an equal range of all rows, or every n-th file.
    """

    sampler_name = "FileLanesSampler"
    lanes: int = 1
    num_shards: int = 1
    shard_id: int = 0
    equal_rows: bool = True
    mixes_files: bool = False
    sizes: tuple[int, ...] | None = None  # rows per file; None if the reader knows them

    def count_of(self, available: int) -> int:
        if self.equal_rows:
            return math.ceil(available / self.num_shards)
        return sum((self.sizes or ())[self.shard_id :: self.num_shards])


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedInterleavedFilesNode(InterleavedFilesNode):
    """Interleaved files that share `num_samples`: each file yields the same number of rows.

    All shards have the same number of files, so the last files may belong to no shard.
    """

    sampler_name = "SharedLanesSampler"

    def count(self, size: int) -> int:
        return self.num_samples or 0
