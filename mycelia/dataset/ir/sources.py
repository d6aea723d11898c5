"""Base class of source nodes, and in-memory sources: arrays and user objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.labels import labels_of
from mycelia.dataset.formats.reader import ArrayReader, ListReader, ObjectReader, RowReader
from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.ir.samplers import (
    InterleavedFilesNode,
    PKSamplerNode,
    SamplerNode,
    SequentialSamplerNode,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class SourceNode(DatasetNode):
    """A source with random access; a sampler determines the order."""

    sampler: SamplerNode = field(default_factory=SequentialSamplerNode)
    opened: list[RowReader] = field(default_factory=list, repr=False, metadata={"json": False})

    def open(self) -> RowReader:
        """Open the source and return its reader."""
        raise NotImplementedError

    @property
    def reader(self) -> RowReader:
        """The cached reader: read-only, shared by all runs and by copies with other samplers."""
        if not self.opened:
            self.opened.append(self.open())
        return self.opened[0]

    def size(self) -> int | None:
        sampler = self.sampler
        if isinstance(sampler, PKSamplerNode):
            classes = len(np.unique(labels_of(self.reader, sampler.class_column)))
            sampler = replace(sampler, classes=classes)
        size = len(self.reader)
        return _with_sizes(sampler, getattr(self.reader, "file_sizes", None)).count(size)

    def columns(self) -> tuple[str, ...]:
        return tuple(self.reader.columns)


def _with_sizes(sampler: SamplerNode, sizes: list[int] | None) -> SamplerNode:
    """The sampler, completed with the file sizes that the reader knows."""
    if sampler.child is not None:
        return replace(sampler, child=_with_sizes(sampler.child, sizes))
    if isinstance(sampler, InterleavedFilesNode) and sizes is not None:
        return replace(sampler, sizes=tuple(sizes))
    return sampler


@dataclass(frozen=True, eq=False, kw_only=True)
class ArraySourceNode(SourceNode):
    """Slices of arrays along the first axis."""

    op_type = "NumpySlicesDataset"
    arrays: tuple[Any, ...] = field(metadata={"json": False})
    names: tuple[str, ...]

    def open(self) -> RowReader:
        if all(isinstance(a, np.ndarray) and a.dtype != object for a in self.arrays):
            return ArrayReader(self.names, self.arrays, self.op_type)
        return ListReader(self.names, self.arrays, self.op_type)


@dataclass(frozen=True, eq=False, kw_only=True)
class ObjectSourceNode(SourceNode):
    """A user's object with `__getitem__` and `__len__`."""

    op_type = "GeneratorDataset"
    data: Any = field(metadata={"json": False})
    names: tuple[str, ...]
    types: tuple[np.dtype[Any] | None, ...] | None = None

    def open(self) -> RowReader:
        return ObjectReader(self.names, self.data, self.types)

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamSourceNode(DatasetNode):
    """A sequential source: a function starts a new iteration for every epoch.

    A source that declares its `length` must yield exactly that many rows.
    """

    op_type = "GeneratorDataset"
    start: Callable[[], Any] = field(metadata={"json": False})
    names: tuple[str, ...]
    types: tuple[np.dtype[Any] | None, ...] | None = None
    length: int | None = None
    num_samples: int | None = None
    samples_of_a_row: int = 1  # -1 if that varies

    def size(self) -> int | None:
        if self.length is None:
            return None
        return min(self.length, self.num_samples) if self.num_samples else self.length

    def batch_size(self) -> int:
        return self.samples_of_a_row

    def columns(self) -> tuple[str, ...]:
        return self.names


def check_unique(owner: str, names: tuple[str, ...]) -> None:
    """Check that column names are unique."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise problem(ValueError, f"{owner}: duplicate column names", got=", ".join(twice))
