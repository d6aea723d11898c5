"""Iterators over a pipeline and questions about its rows: sizes, columns, profile."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset import config
from mycelia.dataset.api import arguments as check
from mycelia.dataset.api.iterators import DictIterator, TupleIterator
from mycelia.dataset.api.profile import Profile, profile_of
from mycelia.dataset.api.tree_drawing import as_svg, as_text
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.runtime.run import DatasetRun
from mycelia.dataset.runtime.run_metrics import RunMetrics


class ReadableDataset:
    """A pipeline that can be iterated."""

    def __init__(self, node: DatasetNode) -> None:
        self.node = node
        self._count: int | None = None
        self._first: list[tuple[tuple[int, ...], Any]] | None = None
        self._dynamic: dict[str, Any] | None = None
        self._meters: RunMetrics | None = None

    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False
    ) -> DictIterator:
        """Iterate over rows as dicts from column names to values."""
        made = DictIterator(self.node, num_epochs, output_numpy, do_copy)
        made.begin_at(self.node.init_step())
        self._meters, self._first = made.meters, made.first
        return made

    def create_tuple_iterator(
        self,
        columns: Any = None,
        num_epochs: int = -1,
        output_numpy: bool = False,
        do_copy: bool = False,
    ) -> TupleIterator:
        """Iterate over rows as lists of values."""
        chosen = None if columns is None else check.names("columns", columns)
        made = TupleIterator(self.node, chosen, num_epochs, output_numpy, do_copy)
        made.begin_at(self.node.init_step())
        self._meters, self._first = made.meters, made.first
        return made

    def profile(self, num_epochs: int = 1) -> Profile:
        """Run some epochs as fast as possible and report the cost of every step and operation."""
        meters = RunMetrics(operations=True)
        run = DatasetRun(self.node, replace(config.options(), meters=meters), num_epochs)
        try:
            for _ in range(num_epochs):
                with suppress(StopIteration):
                    while True:
                        run.next()
        finally:
            run.end()
        return profile_of(meters)

    def last_profile(self) -> Profile:
        """Profile of the latest iterator: the cost of each step and the time its consumer waited.

        `Model.train` creates such an iterator.
        """
        if self._meters is None:
            raise problem(RuntimeError, "last_profile: no iterator has run over this dataset")
        return profile_of(self._meters)

    def __iter__(self) -> TupleIterator:
        return self.create_tuple_iterator(num_epochs=1)

    def get_dataset_size(self) -> int:
        """Rows per epoch; counted once by a dry run if the steps do not determine it."""
        size = self.node.size()
        if size is not None:
            return size
        if self._count is None:
            self._count = sum(1 for _ in self._arrays())
        return self._count

    def __len__(self) -> int:
        return self.get_dataset_size()

    def get_batch_size(self) -> int:
        """How many samples a row holds; -1 if that varies."""
        return self.node.batch_size()

    def get_repeat_count(self) -> int:
        """The count of the last `repeat`; 1 if there is none."""
        return self.node.repeat_count()

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.node.columns())

    def get_class_indexing(self) -> dict[str, Any]:
        """Map from class names to labels; empty if the source has none."""
        return self.node.class_indexing()

    def num_classes(self) -> int | None:
        """How many classes there are; None if the source does not know."""
        return self.node.num_classes()

    def output_shapes(self, estimate: bool = False) -> list[list[int | None]]:
        """The shapes of the first row; with `estimate`, sizes that vary are None."""
        if not check.flag("estimate", estimate):
            return [list(shape) for shape, _ in self._first_row()]
        shapes: list[list[int | None]] | None = None
        for row in self._arrays():
            now = [list(value.shape) for value in row]
            shapes = now if shapes is None else [_common(a, b) for a, b in zip(shapes, now)]
        return shapes or []

    def output_types(self) -> list[Any]:
        """The NumPy types of the first row."""
        kinds = [kind for _, kind in self._first_row()]
        return [np.dtype(kind.kind) if kind.kind in "US" else kind for kind in kinds]

    def _first_row(self) -> list[tuple[tuple[int, ...], Any]]:
        """The shapes and types of the first row, cached from an iterator if possible."""
        if not self._first:
            iterator = self._arrays()
            next(iterator, None)
            self._first = iterator.first
            iterator.release()
        return self._first

    def _arrays(self) -> TupleIterator:
        """One epoch as NumPy arrays, to inspect the rows."""
        return TupleIterator(self.node, None, 1, True, False)

    def to_svg(self) -> str:
        """A drawing of the pipeline's steps as SVG."""
        return as_svg(self.node)

    _repr_svg_ = to_svg

    def __str__(self) -> str:
        return as_text(self.node)

    def reset(self) -> None:
        """Forget cached counts; every iterator starts a fresh run anyway."""
        self._count = self._first = None

    def set_dynamic_columns(self, columns: dict[str, Any] | None = None) -> None:
        """Set the shapes of dynamic columns; None marks a size that varies."""
        if not isinstance(columns, dict):
            raise check.wrong_type("columns", columns, "dict")
        if not columns:
            raise problem(ValueError, "set_dynamic_columns: columns is empty")
        O.check_columns("set_dynamic_columns", tuple(columns), self.node.columns())
        self._dynamic = dict(columns)

    def dynamic_min_max_shapes(self) -> tuple[list[Any], list[Any]]:
        """The smallest and largest shapes among the rows of a dataset."""
        shapes = [[value.shape for value in row] for row in self._arrays()]
        least = [list(map(min, zip(*column))) for column in zip(*shapes)]
        largest = [list(map(max, zip(*column))) for column in zip(*shapes)]
        return least, largest

    def get_init_step(self) -> int:
        """The step at which iterators start."""
        return self.node.init_step()

    def set_init_step(self, init_step: int) -> None:
        """Start iterators at a step; the rows before it are skipped."""
        self.node = replace(self.node, first_step=check.integer("init_step", init_step))


def _common(a: list[int | None], b: list[int | None]) -> list[int | None]:
    if len(a) != len(b):
        raise problem(
            RuntimeError, "output_shapes: the rank of a column varies", got=f"{a} and {b}"
        )
    return [x if x == y else None for x, y in zip(a, b)]
