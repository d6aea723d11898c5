"""Sink execution: several runs of a program as one program, over a batch of arguments.

Nothing returns to Python between the runs. Written state (parameters, optimizer states) is carried
from run to run, so the results equal those of separate runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from mycelia._engine.core.pending_checks import poll_checks, wait_for_checks
from mycelia._engine.core.process_groups import world
from mycelia._engine.core.seed import peek_key
from mycelia._engine.ir.program import InputSource, Program
from mycelia._engine.runtime.atomic_writes import after_writing, before_writing
from mycelia._engine.runtime.buffer_donation import BufferDonation, DeliveredResults
from mycelia._engine.runtime.distributed import multiprocess_jit
from mycelia._engine.runtime.executor import (
    as_array,
    calls_python,
    donatable_arrays,
    state_array,
)
from mycelia._engine.runtime.host_to_device import aligned
from mycelia._engine.runtime.observers import observed
from mycelia._engine.runtime.parameter_layout.packed_programs import pack_parameters
from mycelia._engine.runtime.uninterruptible import uninterruptible
from mycelia._engine.runtime.xla.compile import (
    ProgramCache,
    joined_options,
    small_products,
    without_engine_frames,
)
from mycelia._engine.runtime.xla.lowering import LoweredGraph
from mycelia._engine.runtime.xla.materialization import runtime_one
from mycelia.tensor.consumed_array import ConsumedArray, check_not_consumed


def why_not_joinable(program: Program) -> str:
    """Why runs of a program cannot be joined, or an empty string."""
    if program.capacity is not None:
        return "its stacks may have to grow"
    if program.unbound:
        return "it may read a variable without a value"
    if program.drawn is None:
        return "the number of random keys it draws is only known at run time"
    if any(isinstance(which, int) for which in program.writes):
        return "it writes to its arguments"
    if len(program.graph.output.type) != program.results + len(program.writes):
        return "it prints or records something"
    if not program.keeps_types:
        return "it changes the shape or dtype of what it writes"
    if calls_python(program):
        return "it calls Python functions"
    return ""


class MultiStepProgram:
    """A program that runs a number of times, with separate arguments for each run."""

    def __init__(self, program: Program) -> None:
        self.program = program = pack_parameters(program)
        written = {id(tensor): i for i, tensor in enumerate(program.writes)}
        self._carried: list[int | None] = [
            written.get(id(given.which)) if given.source is InputSource.STATE else None
            for given in program.inputs
        ]
        self._handover = BufferDonation(
            DeliveredResults(len(program.writes) + program.results),
            program.writes,
            0,
            in_thread=world().size > 1,
        )
        self._generation = -1

    def _begin(self) -> None:
        """Reset to no executables, with the current lowering settings."""
        program, handover = self.program, self._handover
        generation = ProgramCache.generation
        products = small_products(program.graph)
        self._step = LoweredGraph(program.graph, None, products, program.replaced)
        handover.delivery.size = self._step.size
        handover.forget()
        self._program = multiprocess_jit.jit(
            handover.delivery.of(self._steps),
            program.graph,
            donate_argnums=(0,),
            compiler_options=joined_options(program.graph, products),
        )
        self._compiled: dict[int, Callable[..., Any]] = {}  # by number of runs
        self._generation = generation  # last, so that an interrupted setup is repeated

    def __call__(self, batches: Sequence[Sequence[Any]]) -> list[Any]:
        """Run on the arguments of all runs, write back state, and return the stacked results."""
        if self._generation != ProgramCache.generation:
            self._begin()
        self._ask()
        if ConsumedArray.present:
            check_not_consumed(
                [i.which._data for i in self.program.inputs if i.source is InputSource.STATE]
            )
        try:
            with self._handover.turn:
                found = self._run(batches)
        except Exception as error:
            raise without_engine_frames(error) from None
        after_writing(self.program.writes)
        return list(self._step.noted(found)[len(self.program.writes) :])

    def _ask(self) -> None:
        """Raise failed index checks of earlier runs; programs without guards wait for them."""
        if self.program.writes and not self._step.guarded:
            wait_for_checks()
        poll_checks()

    def _run(self, batches: Sequence[Sequence[Any]]) -> list[Any]:
        program, handover, count = self.program, self._handover, len(batches)
        handover.delivery.clear()
        before_writing(program.writes)
        state = donatable_arrays(program.writes)
        fixed = [
            state_array(given.which)
            for given, place in zip(program.inputs, self._carried, strict=True)
            if given.source is InputSource.STATE and place is None
        ]
        arguments = [_stacked([as_array(b[i]) for b in batches]) for i in self._argument_places()]
        extra = runtime_one(), *self._step.failed_before()
        inputs = state, fixed, arguments, self._keys(count), extra
        run = self._compiled.get(count)
        if run is None:
            run = uninterruptible(partial(multiprocess_jit.compiled, self._program, inputs))
            self._compiled[count] = run
        assert program.drawn is not None
        drawn = program.drawn * count
        return observed(
            program.graph.name,
            lambda: handover.run(run, inputs, state, fixed, (), drawn),
        )

    def _argument_places(self) -> list[int]:
        return [i.which for i in self.program.inputs if i.source is InputSource.ARGUMENT]

    def _keys(self, count: int) -> np.ndarray:
        """The random state at the start of each run."""
        assert self.program.drawn is not None
        keys = np.tile(peek_key(), (count, 1))
        keys[:, 1] += np.arange(count, dtype=np.uint32) * np.uint32(self.program.drawn)
        return keys

    def _steps(self, state: Any, fixed: Any, arguments: Any, keys: Any, extra: Any) -> list[Any]:
        """All runs in a scan; after one with a wrong index, the others write nothing."""
        results, (last, *failed_before) = self.program.results, extra

        def body(carry: Any, given: Any) -> Any:
            state, failed = carry
            found = self._step(*self._inputs(state, fixed, *given), last, *failed)
            end = results + len(state)
            rest = found[end:]
            after = list(found[results:end]), rest[-1:] if failed else failed
            return after, [*found[:results], *rest]

        begin = state, tuple(failed_before)
        (last_state, _), stacked = jax.lax.scan(body, begin, (arguments, keys))
        return [*last_state, *stacked]

    def _inputs(self, state: Any, fixed: Any, arguments: Any, key: Any) -> list[Any]:
        constants, given = iter(fixed), iter(arguments)
        found = []
        for kind, place in zip(self.program.inputs, self._carried, strict=True):
            if kind.source is InputSource.ARGUMENT:
                found.append(next(given))
            elif kind.source is InputSource.RANDOM:
                found.append(key)
            else:
                found.append(next(constants) if place is None else state[place])
        return found


def _stacked(arrays: list[Any]) -> np.ndarray:
    """Stack equally shaped arrays in memory that XLA reads without a copy."""
    first = arrays[0]
    whole = aligned((len(arrays), *first.shape), first.dtype)
    if first.ndim:
        np.concatenate(arrays, out=whole.reshape(-1, *first.shape[1:]))
    else:
        whole[:] = arrays
    return whole
