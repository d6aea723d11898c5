"""Several runs of one program as one: the data of all of them goes in, their results come out.

Between the runs nothing returns to Python. What the program writes (parameters, the optimizer's
state) is carried from run to run, so the numbers are those of runs one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from mycelia.core.pending import poll
from mycelia.core.seed import peek_key
from mycelia.core.world import world
from mycelia.ir.program import Program, Source
from mycelia.runtime import ranks
from mycelia.runtime.executor import (
    as_array,
    calls_python,
    owned_arrays,
    state_array,
)
from mycelia.runtime.feeding import aligned
from mycelia.runtime.handover import Delivery, Handover
from mycelia.runtime.packing import packed
from mycelia.runtime.undisturbed import undisturbed
from mycelia.runtime.watching import watched
from mycelia.runtime.writing import after_writing, before_writing
from mycelia.runtime.xla.compile import (
    Programs,
    joined_options,
    small_products,
    without_engine_frames,
)
from mycelia.runtime.xla.keeping import one
from mycelia.runtime.xla.lower import Lowered
from mycelia.tensor.lost import Lost, refuse_lost


def why_not(program: Program) -> str:
    """Why runs of a program cannot be joined, or nothing."""
    if program.capacity is not None:
        return "its stacks may have to grow"
    if program.unbound:
        return "it may meet a variable without a value"
    if program.drawn is None:
        return "how many random numbers it draws is only known when it runs"
    if any(isinstance(which, int) for which in program.writes):
        return "it writes to its arguments"
    if len(program.graph.output.type) != program.results + len(program.writes):
        return "it prints or records something"
    if calls_python(program):
        return "it calls Python functions"
    return ""


class Sunk:
    """A program that runs a number of times, each with its own arguments."""

    def __init__(self, program: Program) -> None:
        self.program = program = packed(program)
        written = {id(tensor): i for i, tensor in enumerate(program.writes)}
        self._carried: list[int | None] = [
            written.get(id(given.which)) if given.source is Source.STATE else None
            for given in program.inputs
        ]
        self._handover = Handover(
            Delivery(len(program.writes) + program.results),
            program.writes,
            0,
            in_thread=world().size > 1,
        )
        self._generation = -1

    def _begin(self) -> None:
        """Start without executables, with operators lowered as the settings say now."""
        program, handover = self.program, self._handover
        generation = Programs.generation
        products = small_products(program.graph)
        self._step = Lowered(program.graph, small_products=products)
        handover.delivery.size = self._step.size
        handover.forget()
        self._program = ranks.jit(
            handover.delivery.of(self._steps),
            program.graph,
            donate_argnums=(0,),
            compiler_options=joined_options(program.graph, products),
        )
        self._compiled: dict[int, Callable[..., Any]] = {}  # by number of runs
        self._generation = generation  # at last: what an interruption leaves is begun again

    def __call__(self, batches: Sequence[Sequence[Any]]) -> list[Any]:
        """All results, stacked, for the arguments of each run; what the runs write is written."""
        poll()
        if self._generation != Programs.generation:
            self._begin()
        if Lost.present:
            refuse_lost([i.which._data for i in self.program.inputs if i.source is Source.STATE])
        try:
            with self._handover.turn:
                found = self._run(batches)
        except Exception as error:
            raise without_engine_frames(error) from None
        after_writing(self.program.writes)
        return list(self._step.noted(found)[len(self.program.writes) :])

    def _run(self, batches: Sequence[Sequence[Any]]) -> list[Any]:
        program, handover, count = self.program, self._handover, len(batches)
        handover.delivery.clear()
        before_writing(program.writes)
        state = owned_arrays(program.writes)
        fixed = [
            state_array(given.which)
            for given, place in zip(program.inputs, self._carried, strict=True)
            if given.source is Source.STATE and place is None
        ]
        arguments = [_stacked([as_array(b[i]) for b in batches]) for i in self._argument_places()]
        inputs = state, fixed, arguments, self._keys(count), one()
        run = self._compiled.get(count)
        if run is None:
            run = undisturbed(partial(ranks.compiled, self._program, inputs))
            self._compiled[count] = run
        assert program.drawn is not None
        drawn = program.drawn * count
        return watched(
            program.graph.name,
            lambda: handover.run(run, inputs, state, fixed, (), drawn),
        )

    def _argument_places(self) -> list[int]:
        return [i.which for i in self.program.inputs if i.source is Source.ARGUMENT]

    def _keys(self, count: int) -> np.ndarray:
        """The random state at the beginning of each run."""
        assert self.program.drawn is not None
        keys = np.tile(peek_key(), (count, 1))
        keys[:, 1] += np.arange(count, dtype=np.uint32) * np.uint32(self.program.drawn)
        return keys

    def _steps(self, state: Any, fixed: Any, arguments: Any, keys: Any, last: Any) -> list[Any]:
        results = self.program.results

        def body(carry: Any, given: Any) -> Any:
            found = self._step(*self._inputs(carry, fixed, *given), last)
            end = results + len(carry)
            return list(found[results:end]), [*found[:results], *found[end:]]

        last_state, stacked = jax.lax.scan(body, state, (arguments, keys))
        return [*last_state, *stacked]

    def _inputs(self, state: Any, fixed: Any, arguments: Any, key: Any) -> list[Any]:
        constants, given = iter(fixed), iter(arguments)
        found = []
        for kind, place in zip(self.program.inputs, self._carried, strict=True):
            if kind.source is Source.ARGUMENT:
                found.append(next(given))
            elif kind.source is Source.RANDOM:
                found.append(key)
            else:
                found.append(next(constants) if place is None else state[place])
        return found


def _stacked(arrays: list[Any]) -> np.ndarray:
    """Equal arrays side by side, where XLA reads them without a copy."""
    first = arrays[0]
    whole = aligned((len(arrays), *first.shape), first.dtype)
    if first.ndim:
        np.concatenate(arrays, out=whole.reshape(-1, *first.shape[1:]))
    else:
        whole[:] = arrays
    return whole
