"""Sink mode: several training steps as one program, without returning to Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_positive_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.runtime.executor import Executable
from mycelia._engine.runtime.multi_step import MultiStepProgram, why_not_joinable
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.jit import CompiledFunction, Specialization, compiled_of


class MultiStepResults(Sequence[Any]):
    """The results of several calls of a compiled function, each extracted when it is accessed."""

    def __init__(
        self, compiled: CompiledFunction, entry: Specialization, stacked: list[Any], count: int
    ) -> None:
        self._compiled, self._entry, self._count = compiled, entry, count
        self._stacked: list[Any] = stacked
        self._is_here = False

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        if not -self._count <= place < self._count:
            raise IndexError(place)
        if place in (-1, self._count - 1) and not self._is_here:
            return self._built(-1)  # without waiting for it
        if not self._is_here:
            self._stacked = [np.asarray(array) for array in self._stacked]
            self._is_here = True
        return self._built(place)

    def _built(self, place: int) -> Any:
        return self._compiled.result(self._entry, [array[place] for array in self._stacked])


def run_steps(compiled: CompiledFunction, batches: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
    """Call a compiled function on each batch and return the results.

    The calls run as one program if all batches have the same signature and the function allows it.
    """
    entry = compiled.entry(batches[0], {})
    if not _is_one_kind(batches) or why_one_by_one(entry):
        return [compiled(*batch) for batch in batches]
    assert entry.read is not None
    if entry.sunk is None:
        entry.sunk = MultiStepProgram(entry.read.program)
    entry.runs += len(batches)
    stacked = entry.sunk([[column._data for column in batch] for batch in batches])
    return MultiStepResults(compiled, entry, stacked, len(batches))


def _is_one_kind(batches: Sequence[tuple[Any, ...]]) -> bool:
    """Whether all batches are tensors with the same shapes and dtypes."""
    first = _kinds(batches[0])
    return None not in first and all(_kinds(batch) == first for batch in batches)


def _kinds(batch: tuple[Any, ...]) -> list[Any]:
    return [(x._data.shape, x._data.dtype) if type(x) is Tensor else None for x in batch]


def why_one_by_one(entry: Specialization) -> str:
    """Why the calls of an entry cannot run as one program, or an empty string."""
    if entry.executable is None or entry.read is None:
        return f"it falls back to the interpreter: {entry.vm_reason}"
    if not isinstance(entry.executable, Executable):
        return "it is a pipeline"
    if entry.planned is not None:
        return "it is sharded over several devices"
    if entry.fitted is not None:
        return "its sizes are dynamic"
    if entry.state or entry.read.changes:
        return "it changes attributes or containers"
    return why_not_joinable(entry.read.program)


def data_sink(
    fn: Callable[..., Any],
    dataset: Iterable[Any],
    sink_size: int = 1,
    jit_config: Any = None,
    input_signature: Any = None,
) -> Callable[[], Any]:
    """Return a function that runs `fn` on the next `sink_size` batches and returns the last result.

    `fn` is a training step: a Cell or a function. At the end, the dataset starts again.
    """
    check_positive_int("data_sink", "sink_size", sink_size)
    compiled = compiled_of(fn)
    batches = _endless(dataset)

    def sink_process(*args: Any, **kwargs: Any) -> Any:
        if args or kwargs:
            raise problem(
                TypeError,
                "data_sink: the function takes its arguments from the dataset",
                got=f"{len(args) + len(kwargs)} arguments",
                expected="none",
            )
        given = [next(batches) for _ in range(sink_size)]
        return run_steps(compiled, given)[-1]

    return sink_process


def _endless(dataset: Any) -> Iterator[tuple[Any, ...]]:
    """The batches of a dataset as tuples of tensors, epoch after epoch."""
    if not isinstance(dataset, Iterable) and not hasattr(dataset, "create_tuple_iterator"):
        raise wrong_type("data_sink", "dataset", dataset, "a dataset, or an iterable of batches")
    while True:
        is_empty = True
        for batch in _batches(dataset):
            is_empty = False
            parts = batch if isinstance(batch, (tuple, list)) else (batch,)
            yield tuple([p if isinstance(p, Tensor) else Tensor(p) for p in parts])
        if is_empty:
            raise problem(ValueError, "data_sink: the dataset has no (more) batches")


def _batches(dataset: Any) -> Iterable[Any]:
    make = getattr(dataset, "create_tuple_iterator", None)
    return dataset if make is None else make()
