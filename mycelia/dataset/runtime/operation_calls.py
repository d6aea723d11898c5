"""Calls of map operations in a worker: with random generators, debug hooks, and timing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from mycelia.dataset.ir.operation import Operation, put_into
from mycelia.dataset.ir.operations import MapNode, RowBoundary
from mycelia.dataset.runtime.operator import RunOptions
from mycelia.dataset.runtime.process.process_pool import ProcessPool
from mycelia.dataset.runtime.randomness import borrowed_generator
from mycelia.dataset.runtime.row import Values
from mycelia.dataset.runtime.row_errors import name_of
from mycelia.dataset.runtime.run_metrics import StepMeter

_SEEDS = 2**32 - 1
Key = tuple[int, int]  # epoch and index of a row


class OperationCall:
    """One operation. This class runs user functions; subclasses run transforms."""

    takes_many = False
    crew: ProcessPool | None = None

    def __init__(self, operation: Any) -> None:
        self.operation = operation

    def run(self, row: Values, key: Key) -> Values:
        """Apply the operation to one row."""
        return _as_row(self.operation(*row))

    def run_into(self, row: Values, key: Key, outs: list[np.ndarray]) -> Values | None:
        """Apply it and write into arrays; values that do not fit are returned instead."""
        return put_into(self.run(row, key), outs)

    def run_many(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
        """Apply it to stacked rows; None if it cannot."""
        return None

    def run_remotely(self, rows: Sequence[Values], keys: Sequence[Key]) -> list[Values]:
        """Apply it to rows in another process."""
        raise NotImplementedError


class TransformCall(OperationCall):
    """A deterministic transform."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation)
        self.takes_many = operation.takes_many

    def run(self, row: Values, key: Key) -> Values:
        return _as_row(self.operation.run(row, None))

    def run_into(self, row: Values, key: Key, outs: list[np.ndarray]) -> Values | None:
        return self.operation.run_into(row, None, outs)

    def run_many(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
        return self.operation.run_many(columns)


class RandomTransformCall(OperationCall):
    """A random transform."""

    def __init__(self, operation: Operation, seed: int, number: int) -> None:
        super().__init__(operation)
        self._seed = seed
        self._number = number

    def run(self, row: Values, key: Key) -> Values:
        random = borrowed_generator(self._seed, self._number, *key)
        return _as_row(self.operation.run(row, random))

    def run_into(self, row: Values, key: Key, outs: list[np.ndarray]) -> Values | None:
        random = borrowed_generator(self._seed, self._number, *key)
        return self.operation.run_into(row, random, outs)


class RemoteCall(OperationCall):
    """A user's function in separate processes."""

    def __init__(self, operation: Any, crew: ProcessPool, seed: int, number: int) -> None:
        super().__init__(operation)
        self.crew = crew
        self._seed = seed
        self._number = number

    def run_remotely(self, rows: Sequence[Values], keys: Sequence[Key]) -> list[Values]:
        assert self.crew is not None
        seeds = [hash((self._seed, self._number, *key)) & _SEEDS for key in keys]
        return [_as_row(made) for made in self.crew.run(rows, seeds)]


class HookedCall(OperationCall):
    """An operation with debug hooks, which see its result and the input of the first operation."""

    def __init__(self, call: OperationCall, hooks: Sequence[Any], *, is_first: bool) -> None:
        super().__init__(call.operation)
        self._call = call
        self._hooks = hooks
        self._is_first = is_first

    def run(self, row: Values, key: Key) -> Values:
        if self._is_first:
            self._show(row)
        made = self._call.run(row, key)
        self._show(made)
        return made

    def _show(self, values: Values) -> None:
        for hook in self._hooks:
            hook.set_previous_op_name(name_of(self.operation))
            hook.compute(values)


def calls_of(node: MapNode, options: RunOptions, meter: StepMeter) -> list[OperationCall]:
    """How a worker of this run calls the operations of a map."""
    calls = [
        _call_of(operation, number, options, meter, remotely=node.python_multiprocessing)
        for operation, number in zip(node.operations, node.numbers, strict=True)
    ]
    return _hooked(calls, options.hooks) if options.hooks else calls


def _hooked(calls: Sequence[OperationCall], hooks: Sequence[Any]) -> list[OperationCall]:
    made: list[OperationCall] = []
    is_first = True
    for call in calls:
        is_boundary = isinstance(call.operation, RowBoundary)  # not a user's operation
        made.append(call if is_boundary else HookedCall(call, hooks, is_first=is_first))
        is_first = is_boundary
    return made


def _call_of(
    operation: Any, number: int, options: RunOptions, meter: StepMeter, *, remotely: bool
) -> OperationCall:
    made: OperationCall
    if not isinstance(operation, Operation):
        made = OperationCall(operation)
        if remotely and not options.single_threaded:
            made = RemoteCall(operation, options.started_processes(operation), options.seed, number)
    elif operation.is_random:
        made = RandomTransformCall(operation, options.seed, number)
    else:
        made = TransformCall(operation)
    if options.meters.operations:
        _put_clocks(made, lambda seconds: options.meters.part(meter, name_of(operation), seconds))
    return made


def _put_clocks(call: OperationCall, tell: Callable[[float], None]) -> None:
    """Time every method that runs the operation."""
    for way in ("run", "run_into", "run_many", "run_remotely"):
        setattr(call, way, _clocked(getattr(call, way), tell))


def _clocked(function: Callable[..., Any], tell: Callable[[float], None]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        began = perf_counter()
        made = function(*arguments)
        tell(perf_counter() - began)
        return made

    return timed


def _as_row(made: Any) -> Values:
    return made if isinstance(made, tuple) else (made,)
