"""The pipeline executor: one executable per stage and direction, run in schedule order.

In one process nothing here blocks: XLA queues calls, and every device executes its own queue. In a
multi-process job, every process iterates over all events, runs the stages on its own devices, and
blocks only where values move between processes (`crossing.py` explains why this cannot deadlock).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from mycelia._engine.distributed.mesh import Placement, replicated
from mycelia._engine.parallel.pipeline.action_order import StageTransfer, events
from mycelia._engine.parallel.pipeline.devices import StageDevices
from mycelia._engine.parallel.pipeline.program import (
    PipelineProgram,
    StageInput,
    StageInputKind,
    StageProgram,
)
from mycelia._engine.parallel.pipeline.schedule import PipelineAction
from mycelia._engine.runtime.distributed.stage_transfer import StageArray


@dataclass(frozen=True)
class PipelineResult:
    """The outputs of a run: the result, summed gradients, and new states, by network input."""

    result: Any
    gradients: dict[int, Any]
    written: dict[int, Any]


@dataclass
class _ChunkExecutables:
    """A chunk and its executables."""

    program: StageProgram
    place: StageDevices
    forward: Callable[..., Any]
    backward: Callable[..., Any] | None
    zeros: Callable[..., Any] | None
    shardings: tuple[Any, ...]  # of the inputs


@dataclass
class _PipelineRunValues:
    """The values of one run; each is released after its last use."""

    arguments: Sequence[Any]
    states: dict[tuple[int, int], Any]  # by device and input of the network
    seed: Any
    keys: list[Any]
    given: dict[PipelineAction, list[Any]] = field(
        default_factory=dict
    )  # for other chunks, not transferred yet
    moved: dict[tuple[int, int, int], Any] = field(default_factory=dict)  # crossing, batch, chunk
    pulled: dict[tuple[int, int, int], Any] = field(default_factory=dict)
    kept: dict[tuple[int, int], tuple[list[Any], list[Any]]] = field(default_factory=dict)
    sums: dict[int, list[Any]] = field(default_factory=dict)  # by chunk
    result: Any = None
    written: dict[int, Any] = field(default_factory=dict)


class PipelineExecutor:
    """Runs a pipelined network on its devices."""

    def __init__(self, program: PipelineProgram, places: Sequence[StageDevices]) -> None:
        self.program, self.places = program, places
        self._events = events(program.schedule)
        self._readers = self._find_readers()
        self._made = {c: s.number for s in program.stages for c in s.crossing}
        self._stages = [self._compiled(stage) for stage in program.stages]
        self._add = jax.jit(lambda a, b: a + b)
        self.most_bytes = [0] * len(places)  # peak bytes stored per device group in the last run
        self.most_live = [0] * len(places)

    def place_of(self, chunk: int) -> int:
        return chunk % len(self.places)

    def home_sharding(self, number: int) -> Any:
        """The sharding of a state in its home stage."""
        home = self.program.homes[number]
        for stage in self._stages:
            if self.place_of(stage.program.number) == home:
                for place, given in enumerate(stage.program.inputs):
                    if given == StageInput(StageInputKind.STATE, number):
                        return stage.shardings[place]
        raise KeyError(number)

    def __call__(
        self, arguments: Sequence[Any], states: Mapping[int, Any], seed: Any, key: np.ndarray
    ) -> PipelineResult:
        """Run all microbatches; `states` are arrays in their home stages, by network input."""
        program = self.program
        drawn = program.network.drawn or 0
        keys = [
            key + np.array([0, program.first_draw + batch * drawn], key.dtype)
            for batch in range(program.schedule.batches)
        ]
        run = _PipelineRunValues(arguments, self._spread_states(states), seed, keys)
        self.most_bytes = [0] * len(self.places)
        self.most_live = [0] * len(self.places)
        for stage in self._stages:
            if stage.zeros is not None:
                run.sums[stage.program.number] = list(stage.zeros())
        for event in self._events:
            if isinstance(event, StageTransfer):
                self._hand_over(run, event.action)
            elif event.is_forward:
                self._forward(run, self._stages[event.chunk], event)
            else:
                self._backward(run, self._stages[event.chunk], event)
        return PipelineResult(run.result, self._gradients(run), run.written)

    # ---- actions --------------------------------------------------------------------------

    def _forward(
        self, run: _PipelineRunValues, stage: _ChunkExecutables, action: PipelineAction
    ) -> None:
        program, batch = stage.program, action.batch
        arrays = [
            self._input(run, stage, given, place, batch)
            for place, given in enumerate(program.inputs)
        ]
        found = stage.forward(*arrays)
        count, results = len(program.crossing), len(program.results)
        run.given[action] = list(found[:count])
        for number, array in zip(program.results, found[count:], strict=False):
            self._take_result(run, stage, number, array)
        if stage.backward is not None:
            kept = [arrays[i] for i in program.again]
            run.kept[program.number, batch] = (kept, list(found[count + results :]))
            self._note(run, program.number)

    def _input(
        self,
        run: _PipelineRunValues,
        stage: _ChunkExecutables,
        given: StageInput,
        place: int,
        batch: int,
    ) -> Any:
        number = given.number
        if given.kind is StageInputKind.STATE:
            return run.states[self.place_of(stage.program.number), number]
        if given.kind is StageInputKind.CROSSING:
            return run.moved.pop((number, batch, stage.program.number))
        if given.kind is StageInputKind.RANDOM:
            array = run.keys[batch]
        else:
            array = run.arguments[self.program.arguments[number]]
            if given.kind is StageInputKind.BATCH:
                length = array.shape[0] // self.program.schedule.batches
                array = array[batch * length : (batch + 1) * length]
        return stage.place.put(array, stage.shardings[place])

    def _take_result(
        self, run: _PipelineRunValues, stage: _ChunkExecutables, number: int, array: Any
    ) -> None:
        """Accumulate the network's result, or pass a written state to the next microbatch."""
        if number == 0:
            run.result = array if run.result is None else self._added(run.result, array)
            return
        state = self.program.written[number - 1]
        run.written[state] = array
        run.states[self.place_of(stage.program.number), state] = array

    def _backward(
        self, run: _PipelineRunValues, stage: _ChunkExecutables, action: PipelineAction
    ) -> None:
        program, batch = stage.program, action.batch
        if stage.backward is None:
            return
        inputs, kept = run.kept.pop((program.number, batch))
        seeds = [run.pulled.pop((number, batch, chunk)) for number, chunk in program.cotangents]
        seeds += [run.seed for _ in program.seeded]
        found = stage.backward(*inputs, *kept, *seeds, *run.sums.get(program.number, ()))
        count = len(program.pulled)
        run.given[action] = list(found[:count])
        if program.summed:
            run.sums[program.number] = list(found[count:])

    def _hand_over(self, run: _PipelineRunValues, action: PipelineAction) -> None:
        """Transfer the results of an action to the chunks that need them."""
        program = self._stages[action.chunk].program
        given = run.given.pop(action, ())
        if action.is_forward:
            for number, array in zip(program.crossing, given, strict=True):
                for reader, place in self._readers[number]:
                    stage = self._stages[reader]
                    moved = stage.place.put(array, stage.shardings[place])
                    run.moved[number, action.batch, reader] = moved
            return
        for number, array in zip(program.pulled, given, strict=False):
            maker = self._stages[self._made[number]].place
            wanted = maker.sharding(*self._placement_of(number))
            run.pulled[number, action.batch, action.chunk] = maker.put(array, wanted)

    def _added(self, one: Any, other: Any) -> Any:
        """The sum of two arrays with equal shardings."""
        if not isinstance(one, StageArray):
            return self._add(one, other)
        total = None if one.array is None else self._add(one.array, other.array)
        return StageArray(one.shape, one.dtype, one.sharding, total)

    def _placement_of(self, number: int) -> tuple[Placement, Any]:
        """The placement of a crossing value and its gradient: that of its first reader."""
        reader, place = self._readers[number][0]
        stage = self.program.stages[reader]
        maker = self.program.stages[self._made[number]]
        if stage.mesh == maker.mesh:
            return stage.placements[place], stage.mesh
        return replicated(len(stage.placements[place].dims)), maker.mesh

    def _note(self, run: _PipelineRunValues, chunk: int) -> None:
        """Record the bytes that a device group stores, without states."""
        device = self.place_of(chunk)
        if self.places[device].is_shared and not self.places[device].is_mine:
            return
        mine = [(c, b) for c, b in run.kept if self.place_of(c) == device]
        total = 0
        for own, batch in mine:
            program = self._stages[own].program
            inputs, kept = run.kept[own, batch]
            given = [program.inputs[i].kind for i in program.again]
            total += sum(a.nbytes for a, k in zip(inputs, given, strict=True) if k in _COUNTED)
            total += sum(a.nbytes for a in kept)
        self.most_bytes[device] = max(self.most_bytes[device], total)
        self.most_live[device] = max(self.most_live[device], len(mine))

    # ---- setup and results ----------------------------------------------------------------------

    def _compiled(self, program: StageProgram) -> _ChunkExecutables:
        place = self.places[self.place_of(program.number)]
        shardings = tuple([place.sharding(p, program.mesh) for p in program.placements])
        forward = place.compiled(program.forward, (), self._forward_outputs(program, place))
        if program.backward is None:
            return _ChunkExecutables(program, place, forward, None, None, shardings)
        by_state = {
            g.number: i for i, g in enumerate(program.inputs) if g.kind is StageInputKind.STATE
        }
        by_crossing = {
            g.number: i for i, g in enumerate(program.inputs) if g.kind is StageInputKind.CROSSING
        }
        pulled = [shardings[by_crossing[n]] for n in program.pulled]
        sums = [shardings[by_state[n]] for n in program.summed]
        first = len(program.backward.parameters) - len(sums)
        donated = range(first, first + len(sums))
        backward = place.compiled(program.backward, donated, [*pulled, *sums])
        types = [p.type for p in program.backward.parameters[first:]]
        zeros = place.zeros(types, sums) if sums else None
        return _ChunkExecutables(program, place, forward, backward, zeros, shardings)

    def _forward_outputs(self, program: StageProgram, place: StageDevices) -> list[Any] | None:
        """The shardings of results that other processes use; in one process, XLA chooses."""
        if not place.is_shared:
            return None
        found = [place.sharding(*self._placement_of(number)) for number in program.crossing]
        for number in program.results:
            if number:
                at = program.inputs.index(
                    StageInput(StageInputKind.STATE, self.program.written[number - 1])
                )
                found.append(place.sharding(program.placements[at], program.mesh))
            else:
                shape = self.program.network.graph.output.type[0].shape
                found.append(place.sharding(replicated(len(shape))))
        return found + [None] * program.kept

    def _find_readers(self) -> dict[int, list[tuple[int, int]]]:
        """For each crossing value, the chunks that read it, with the input index."""
        found: dict[int, list[tuple[int, int]]] = {
            number: [] for stage in self.program.stages for number in stage.crossing
        }
        for stage in self.program.stages:
            for place, given in enumerate(stage.inputs):
                if given.kind is StageInputKind.CROSSING:
                    found[given.number].append((stage.number, place))
        return found

    def _spread_states(self, states: Mapping[int, Any]) -> dict[tuple[int, int], Any]:
        """Copy states to every device group that reads them."""
        found: dict[tuple[int, int], Any] = {}
        for stage in self._stages:
            device = self.place_of(stage.program.number)
            for place, given in enumerate(stage.program.inputs):
                if given.kind is StageInputKind.STATE and (device, given.number) not in found:
                    array = stage.place.put(states[given.number], stage.shardings[place])
                    found[device, given.number] = array
        return found

    def _gradients(self, run: _PipelineRunValues) -> dict[int, Any]:
        """The gradients summed over all chunks that read a state, in its home stage."""
        found: dict[int, Any] = {}
        homes = self.program.homes
        for stage in self._stages:
            program = stage.program
            for number, total in zip(program.summed, run.sums.get(program.number, ()), strict=True):
                total = self.places[homes[number]].put(total, self.home_sharding(number))
                found[number] = total if number not in found else self._added(found[number], total)
        for number in self.program.differentiated:
            if number not in found:
                array = run.states[homes[number], number]
                zeros = np.zeros(array.shape, array.dtype)
                found[number] = self.places[homes[number]].put(zeros, self.home_sharding(number))
        return found


_COUNTED = (StageInputKind.BATCH, StageInputKind.CROSSING, StageInputKind.RANDOM)
