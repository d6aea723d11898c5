"""Dataset iterators: rows as dicts or lists of Tensors or NumPy arrays."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.tracebacks import shorten
from mycelia._engine.runtime.host_to_device import LARGE, on_device
from mycelia.dataset import config
from mycelia.dataset.api.tuning_report import write_report
from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.ir.operations import (
    BatchNode,
    ProjectNode,
    RenameNode,
    RepeatNode,
    SkipNode,
    TakeNode,
    check_columns,
)
from mycelia.dataset.runtime.operator import RunOptions
from mycelia.dataset.runtime.run import DatasetRun
from mycelia.dataset.runtime.run_metrics import RunMetrics
from mycelia.tensor.tensor import Tensor

_HIDDEN = "_meta-"  # prefix of columns for internal use, shown to users under other names


class Iterator:
    """Iterates over one epoch, then stops; iterating again yields the next epoch.

    Closing or dropping the iterator ends its threads.
    """

    def __init__(
        self, node: DatasetNode, num_epochs: int, output_numpy: bool, do_copy: bool
    ) -> None:
        if not is_int(num_epochs):
            raise problem(TypeError, "num_epochs must be int", got=repr(num_epochs))
        if num_epochs != -1 and num_epochs <= 0:
            raise problem(
                RuntimeError,
                "num_epochs: out of range",
                got=str(num_epochs),
                expected="1 or more, or -1 for an unlimited number",
            )
        for name, value in (("output_numpy", output_numpy), ("do_copy", do_copy)):
            if not isinstance(value, bool):
                raise problem(TypeError, f"{name} must be bool", got=repr(value))
        self._node = node
        self._epochs = num_epochs
        columns = node.columns()
        self._shown = [i for i, name in enumerate(columns) if not name.startswith(_HIDDEN)]
        self._names = tuple(columns[place] for place in self._shown)
        self._output_numpy = output_numpy
        self._do_copy = do_copy
        self.first: list[tuple[tuple[int, ...], Any]] = []  # shapes and types of the first row
        self._open(self._made_run(config.options()))

    def begin_at(self, step: int) -> Self:
        """Skip the rows before a step."""
        if step:
            self._run.move(*self._position(step))
        return self

    def _position(self, step: int) -> tuple[int, int]:
        """The epoch and the row that correspond to a step."""
        size = self._node.size()
        epoch, row = divmod(step, size) if size else (0, step)
        if step < 0 or (size is not None and epoch >= self._epochs != -1):
            raise problem(
                RuntimeError,
                "set_init_step: the step is out of range",
                got=f"step {step}",
                expected=f"0 or more, and less than {self._epochs} epochs of {size} steps have",
            )
        return epoch, row

    def _made_run(self, options: RunOptions) -> DatasetRun:
        if self._output_numpy:
            return DatasetRun(self._node, options, self._epochs)
        return DatasetRun(
            self._node, options, self._epochs, partial(_prefetched, owned=owns_rows(self._node))
        )

    def _open(self, run: DatasetRun) -> None:
        self._run = run
        prefix = config.autotune_prefix()
        self._finalizer = weakref.finalize(self, _end, run, self._node, prefix)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            values = self._run.next()
        except Exception as error:
            shorten(error)
            raise
        if not self.first:
            self.first += [_kind(values[place]) for place in self._shown]
        return self._shaped([self._wrapped(values[place]) for place in self._shown])

    def get_next(self) -> Any:
        """The next row, like `next(iterator)`."""
        return next(self)

    @property
    def meters(self) -> RunMetrics:
        """The meters of the run."""
        return self._run.meters

    def state(self) -> dict[str, int]:
        """The position in the stream, to be stored in a checkpoint."""
        return self._run.state()

    def restore(self, state: dict[str, int]) -> None:
        """Resume from a position that `state` returned, with the same random numbers."""
        if not isinstance(state, dict) or set(state) != {"epoch", "row", "seed"}:
            raise problem(
                ValueError,
                "restore: this is not the state of an iterator",
                got=repr(state),
                expected="a dict that `iterator.state()` returned",
            )
        self.release()
        run = self._made_run(config.options(seed=state["seed"]))
        run.move(state["epoch"], state["row"])
        self._open(run)

    def release(self) -> None:
        """End the threads of the run."""
        self._finalizer()

    stop = release

    def _shaped(self, values: list[Any]) -> Any:
        raise NotImplementedError

    def _wrapped(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._wrapped(entry) for key, entry in value.items()}
        if self._output_numpy or value.dtype.kind in "USO":
            return np.array(value) if self._do_copy else value
        return Tensor._wrap(value)


def _kind(value: Any) -> tuple[tuple[int, ...], Any]:
    """The shape and type of a value; a dict counts as an object."""
    if isinstance(value, dict):
        return (0,), np.dtype(object)
    return tuple(value.shape), value.dtype


def _end(run: DatasetRun, node: DatasetNode, prefix: str | None) -> None:
    """End a run and, if a prefix is set, write the result of autotune."""
    run.end()
    if prefix is not None:
        write_report(node, run.meters, prefix)


def _prefetched(values: tuple[Any, ...], owned: bool) -> tuple[Any, ...]:
    """Copy values to the device ahead of their use."""
    return tuple(_prefetched_value(value, owned) for value in values)


def _prefetched_value(value: Any, owned: bool) -> Any:
    if isinstance(value, dict):
        return {key: _prefetched_value(entry, owned) for key, entry in value.items()}
    if value.dtype.kind in "USO":
        return value
    is_small = value.size < LARGE  # small arrays stay on the host, where users could change them
    return on_device(value.copy() if is_small and not owned else value, owned=owned)


def owns_rows(node: DatasetNode) -> bool:
    """Whether the pipeline creates the arrays of rows, so that nobody else can change them."""
    while isinstance(node, (RepeatNode, SkipNode, TakeNode, ProjectNode, RenameNode)):
        node = node.child
    return isinstance(node, BatchNode) and node.per_batch_map is None


class DictIterator(Iterator):
    """Rows as dicts from column names to values."""

    def _shaped(self, values: list[Any]) -> dict[str, Any]:
        return dict(zip(self._names, values))


class TupleIterator(Iterator):
    """Rows as lists of values, in the order of `columns` if given."""

    def __init__(
        self,
        node: DatasetNode,
        columns: Sequence[str] | None,
        num_epochs: int,
        output_numpy: bool,
        do_copy: bool,
    ) -> None:
        super().__init__(node, num_epochs, output_numpy, do_copy)
        self._column_indices: list[int] | None = None
        if columns is not None:
            check_columns("create_tuple_iterator", tuple(columns), self._names)
            self._column_indices = [self._names.index(name) for name in columns]

    def _shaped(self, values: list[Any]) -> list[Any]:
        return values if self._column_indices is None else [values[i] for i in self._column_indices]
