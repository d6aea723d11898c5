"""Nodes of pipeline operations: map, batch, filter, shuffle, repeat, zip, concat, and others."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.values import row_of
from mycelia.dataset.ir.cache import CacheOptions
from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.ir.sources import check_unique

_LIMIT = 2**31 - 1
_hidden = {"json": False}


def check_interval(argument: str, value: int, low: int) -> None:
    """Check that a count is in MindSpore's range."""
    if not low <= value <= _LIMIT:
        raise problem(
            ValueError,
            f"{argument}: out of range",
            got=str(value),
            expected=f"{low} to {_LIMIT}",
        )


def check_columns(owner: str, wanted: tuple[str, ...], present: tuple[str, ...]) -> None:
    """Check that the named columns exist."""
    absent = [name for name in wanted if name not in present]
    if absent:
        raise problem(
            RuntimeError,
            f"{owner}: unknown columns {', '.join(map(repr, absent))}",
            got=f"columns {', '.join(map(repr, present))}",
            expected="columns of the previous step",
        )


def replaced_columns(
    present: tuple[str, ...], taken: tuple[str, ...], given: tuple[str, ...]
) -> tuple[str, ...]:
    """The column names after an operation replaced its input columns by its output columns.

    If there are as many outputs as inputs, each output takes the position of one input. Otherwise
    the outputs come first.
    """
    if len(taken) == len(given):
        names = dict(zip(taken, given))
        return tuple(names.get(name, name) for name in present)
    return given + tuple(name for name in present if name not in taken)


@dataclass(frozen=True, eq=False, kw_only=True)
class MapNode(DatasetNode):
    """Operations applied in order to some columns of every row."""

    op_type = "Map"
    operations: tuple[Any, ...]
    input_columns: tuple[str, ...] = ()
    output_columns: tuple[str, ...] = ()
    python_multiprocessing: bool = field(default=False, metadata=_hidden)
    numbers: tuple[int, ...] = field(default=(), metadata=_hidden)
    callbacks: tuple[Any, ...] = field(default=(), metadata=_hidden)

    def __post_init__(self) -> None:
        check_columns("map", self.input_columns, self.child.columns())
        check_unique("map", self.columns())

    @property
    def taken(self) -> tuple[str, ...]:
        """The input columns of the operations; by default, the first ones."""
        return self.input_columns or self.child.columns()[:1]

    @property
    def given(self) -> tuple[str, ...]:
        """The output columns of the operations."""
        return self.output_columns or self.taken

    def columns(self) -> tuple[str, ...]:
        return replaced_columns(self.child.columns(), self.taken, self.given)


@dataclass(frozen=True)
class RowBoundary(Operation):
    """The boundary between two fused maps: values form a row again, one value per column."""

    takes_many = True
    columns: tuple[str, ...]

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[Any, ...]:
        return row_of(values, self.columns)

    def run_many(self, columns: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return columns if len(columns) == len(self.columns) else None

    def parameters(self) -> dict[str, Any]:
        return {"columns": self.columns}


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchNode(DatasetNode):
    """Rows stacked into batches."""

    op_type = "Batch"
    batch: int | Callable[[Any], int] = field(metadata={"name": "batch_size"})
    drop_remainder: bool = False
    per_batch_map: Callable[..., Any] | None = field(default=None, metadata=_hidden)
    input_columns: tuple[str, ...] = ()
    output_columns: tuple[str, ...] = ()
    pad_info: dict[str, Any] | None = None
    python_multiprocessing: bool = field(default=False, metadata=_hidden)

    def __post_init__(self) -> None:
        if isinstance(self.batch, int) and self.batch != -1:
            check_interval("batch_size", self.batch, 1)
        check_columns("batch", self.input_columns, self.child.columns())
        if self.pad_info:
            check_columns("padded_batch", tuple(self.pad_info), self.child.columns())

    def size(self) -> int | None:
        below = self.child.size()
        if below is None or not isinstance(self.batch, int):
            return None
        self.check_size()
        return below // self.batch if self.drop_remainder else math.ceil(below / self.batch)

    def check_size(self) -> None:
        """Reject a batch size of -1 (all rows), which requires another step."""
        if self.batch == -1:
            raise problem(
                RuntimeError,
                "batch: batch_size cannot be -1",
                fix="pass the number of rows, or a function of BatchInfo",
            )

    def batch_size(self) -> int:
        return self.batch if isinstance(self.batch, int) else -1

    def columns(self) -> tuple[str, ...]:
        present = self.child.columns()
        taken = self.input_columns or (present if self.output_columns else ())
        return replaced_columns(present, taken, self.output_columns or taken)


@dataclass(frozen=True, eq=False, kw_only=True)
class BucketBatchNode(DatasetNode):
    """Rows batched by length bucket."""

    op_type = "BucketBatchByLength"
    length_columns: tuple[str, ...]
    boundaries: tuple[int, ...]
    sizes: tuple[int, ...]
    length_of: Callable[..., Any] | None = field(default=None, metadata=_hidden)
    pad_info: dict[str, Any] | None = None
    pad_to_bucket_boundary: bool = False
    drop_remainder: bool = False

    def __post_init__(self) -> None:
        owner = "bucket_batch_by_length"
        rising = all(a < b for a, b in zip(self.boundaries, self.boundaries[1:]))
        if not self.boundaries or self.boundaries[0] <= 0 or not rising:
            raise problem(
                ValueError,
                f"{owner}: bucket_boundaries must be positive and strictly increasing",
                got=str(list(self.boundaries)),
            )
        if len(self.sizes) != len(self.boundaries) + 1 or min(self.sizes) <= 0:
            raise problem(
                ValueError,
                f"{owner}: bucket_batch_sizes must hold one positive size more than "
                "bucket_boundaries has boundaries",
                got=f"{list(self.sizes)} for boundaries {list(self.boundaries)}",
            )
        if self.length_of is None and len(self.length_columns) != 1:
            raise problem(
                ValueError,
                f"{owner}: without element_length_function, exactly one length column is required",
                got=f"column_names={list(self.length_columns)}",
            )

    def size(self) -> int | None:
        return None

    def batch_size(self) -> int:
        return 1  # MindSpore's result


@dataclass(frozen=True, eq=False, kw_only=True)
class FilterNode(DatasetNode):
    """The rows for which a predicate returns True."""

    op_type = "Filter"
    predicate: Callable[..., Any]
    input_columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_columns("filter", self.input_columns, self.child.columns())

    def size(self) -> int | None:
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class FlatMapNode(DatasetNode):
    """The concatenated rows of the datasets to which a function maps each row."""

    op_type = "FlatMap"
    function: Callable[..., DatasetNode] = field(metadata=_hidden)
    names: tuple[str, ...] = field(metadata=_hidden)

    def size(self) -> int | None:
        return None

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, eq=False, kw_only=True)
class ShuffleNode(DatasetNode):
    """Rows shuffled with a buffer."""

    op_type = "Shuffle"
    buffer_size: int
    reset_each_epoch: bool = True

    def __post_init__(self) -> None:
        check_interval("buffer_size", self.buffer_size, 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedOrderNode(DatasetNode):
    """The order of the first epoch in every epoch, with a separate seed."""

    op_type = "Fixed"
    seed: int


@dataclass(frozen=True, eq=False, kw_only=True)
class RepeatNode(DatasetNode):
    """All rows repeated `count` times, or endlessly (-1)."""

    op_type = "Repeat"
    count: int

    def __post_init__(self) -> None:
        if self.count != -1 and not 1 <= self.count <= _LIMIT:
            raise problem(
                ValueError,
                "repeat: count is out of range",
                got=str(self.count),
                expected="1 or more, or -1 to repeat endlessly",
            )

    def size(self) -> int | None:
        below = self.child.size()
        return below if below is None or self.count == -1 else below * self.count

    def repeat_count(self) -> int:
        return self.child.repeat_count() if self.count == 1 else self.count


@dataclass(frozen=True, eq=False, kw_only=True)
class SkipNode(DatasetNode):
    """All rows except the first `count`."""

    op_type = "Skip"
    count: int

    def __post_init__(self) -> None:
        check_interval("count", self.count, 0)

    def size(self) -> int | None:
        below = self.child.size()
        return None if below is None else max(below - self.count, 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class TakeNode(DatasetNode):
    """The first `count` rows, or all (-1)."""

    op_type = "Take"
    count: int

    def __post_init__(self) -> None:
        if self.count != -1 and not 1 <= self.count <= _LIMIT:
            raise problem(
                ValueError,
                "take: count must be a positive number of rows",
                got=str(self.count),
                expected="1 or more, or -1 for all",
            )

    def size(self) -> int | None:
        below = self.child.size()
        return below if below is None or self.count == -1 else min(below, self.count)


@dataclass(frozen=True, eq=False, kw_only=True)
class ZipNode(DatasetNode):
    """Rows of several children joined column-wise, up to the shortest child."""

    op_type = "Zip"

    def __post_init__(self) -> None:
        names = self.columns()
        if len(set(names)) != len(names):
            raise problem(
                RuntimeError,
                "zip: two datasets have a column with the same name",
                got=", ".join(names),
                fix="rename the column in one of them: dataset.rename(...)",
            )

    def size(self) -> int | None:
        sizes = [child.size() for child in self.children]
        known = [size for size in sizes if size is not None]
        return min(known) if len(known) == len(sizes) else None

    def columns(self) -> tuple[str, ...]:
        return tuple(name for child in self.children for name in child.columns())

    def class_indexing(self) -> dict[str, Any]:
        return next((c.class_indexing() for c in self.children if c.class_indexing()), {})


@dataclass(frozen=True, eq=False, kw_only=True)
class ConcatNode(DatasetNode):
    """The rows of one child, then those of the next."""

    op_type = "Concat"
    sampler: Any = field(default=None, metadata=_hidden)

    def __post_init__(self) -> None:
        first = self.children[0].columns()
        for child in self.children[1:]:
            if child.columns() != first:
                raise problem(
                    RuntimeError,
                    "concat: the datasets have different columns",
                    got=f"{list(first)} and {list(child.columns())}",
                    expected="the same names in the same order",
                )

    def size(self) -> int | None:
        sizes = [child.size() for child in self.children]
        if any(size is None for size in sizes):
            return None
        total = sum(size for size in sizes if size is not None)
        return total if self.sampler is None else self.sampler.count(total)


@dataclass(frozen=True, eq=False, kw_only=True)
class ProjectNode(DatasetNode):
    """Some columns, in the order of `columns`."""

    op_type = "Project"
    names: tuple[str, ...] = field(metadata={"name": "columns"})

    def __post_init__(self) -> None:
        check_columns("project", self.names, self.child.columns())
        check_unique("project", self.names)

    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, eq=False, kw_only=True)
class RenameNode(DatasetNode):
    """Renamed columns."""

    op_type = "Rename"
    input_columns: tuple[str, ...]
    output_columns: tuple[str, ...]

    def __post_init__(self) -> None:
        check_columns("rename", self.input_columns, self.child.columns())
        if len(self.input_columns) != len(self.output_columns):
            raise problem(
                ValueError,
                "rename: input_columns and output_columns differ in length",
                got=f"{len(self.input_columns)} and {len(self.output_columns)}",
            )
        names = self.columns()
        if len(set(names)) != len(names):
            raise problem(
                RuntimeError, "rename: two columns would have the same name", got=", ".join(names)
            )

    def columns(self) -> tuple[str, ...]:
        names = dict(zip(self.input_columns, self.output_columns))
        return tuple(names.get(name, name) for name in self.child.columns())


@dataclass(frozen=True, eq=False, kw_only=True)
class CacheNode(DatasetNode):
    """Rows cached for later epochs."""

    op_type = "Cache"
    cache_options: CacheOptions = field(metadata=_hidden)


@dataclass(frozen=True, eq=False, kw_only=True)
class SyncWaitNode(DatasetNode):
    """Rows that wait at a gate until the training loop releases them."""

    op_type = "SyncWait"
    condition_name: str
    num_batch: int = 1
    gate: Any = field(default=None, metadata=_hidden)

    def __post_init__(self) -> None:
        check_interval("num_batch", self.num_batch, 1)
