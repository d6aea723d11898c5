"""Running a pipelined training step: each part runs in the stage of its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from sys import getrefcount
from typing import Any

import jax
import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.pending_checks import poll_checks, wait_for_checks
from mycelia._engine.core.seed import peek_key
from mycelia._engine.core.wait_registry import wait_registry
from mycelia._engine.distributed.mesh import Placement, replicated
from mycelia._engine.ir.analysis import used_parameters
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode, GraphParameter
from mycelia._engine.ir.program import InputSource, Program
from mycelia._engine.parallel.pipeline.devices import StageDevices
from mycelia._engine.parallel.pipeline.executor import PipelineExecutor
from mycelia._engine.parallel.pipeline.program import StepPartProgram, StepProgram
from mycelia._engine.parallel.pipeline.report import PipelineReport
from mycelia._engine.runtime.distributed.stage_arrays import StageArraysFlag
from mycelia._engine.runtime.distributed.stage_transfer import (
    StageArray,
    replicate_everywhere,
    rows_of_all,
)
from mycelia._engine.runtime.executor import as_array, write_back
from mycelia._engine.runtime.uninterruptible import uninterruptible

_REFERENCES = 3  # of an unshared array: the tensor's field, a local name, and the counting call


class PipelinedStep:
    """A training step as an executable on arrays; states stay on their stages."""

    was_on_disk = False
    first_run: float | None = None

    def __init__(
        self, step: StepProgram, places: Sequence[StageDevices], report: PipelineReport
    ) -> None:
        self.step, self.places = step, places
        self.program: Program = step.program
        self.choices: dict[str, int] = {}
        self.pipeline = PipelineExecutor(step.pipeline, places)
        self._planned = report
        self._is_shared = places[0].is_shared
        own = (
            StageDevices(jax.local_devices()[:1], is_shared=False) if self._is_shared else places[0]
        )
        self._before = _StepPrologue(step.before, own)
        self._network = {s: n for n, s in enumerate(step.states) if s >= 0}
        self._donated = [self._given_away(number) for number in range(len(step.parts))]
        self._parts = [
            places[part.stage].compiled(part.graph, donated, self._part_outputs(part))
            for part, donated in zip(step.parts, self._donated, strict=True)
        ]

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """Run the step: returns its results, and assigns the states it writes."""
        program, pipeline = self.program, self.step.pipeline
        poll_checks()
        shared = self._shared()
        values = self._inputs(arguments)
        *given, seed = self._before(values)
        states = {n: values[s] for s, n in self._network.items()}
        seed = self.places[self._result_stage].whole(seed)
        found = self.pipeline(given, states, seed, peek_key())
        states.clear()
        first = len(program.inputs)
        values[first] = found.result
        place = first + 1
        for number in pipeline.differentiated:
            values[place] = found.gradients[number]
            place += 1
        for number in pipeline.written:
            values[place] = found.written[number]
            place += 1
        del found
        outputs = uninterruptible(partial(self._finish, values, shared, arguments))
        wait_registry.runs += self._is_shared
        return [replicate_everywhere(result) for result in outputs[: program.results]]

    def _finish(
        self, values: dict[int, Any], shared: set[int], arguments: Sequence[Any]
    ) -> list[Any]:
        """Run the parts, which receive donated arrays of states, and assign the new states.

        If an index in the stages was out of range, no state is written.
        """
        wait_for_checks()
        outputs = self._run_parts(values, shared)
        StageArraysFlag.present = True
        write_back(self.program, outputs, arguments)
        return outputs

    def _run_parts(self, values: dict[int, Any], shared: set[int]) -> list[Any]:
        step = self.step
        outputs: dict[int, Any] = {i: values[p] for i, p in step.passed.items()}
        for part, run, donated in zip(step.parts, self._parts, self._donated, strict=True):
            place = self.places[part.stage]
            arrays = [self._at(place, part.stage, number, values) for number in part.inputs]
            for number in donated:
                if part.inputs[number] in shared:
                    arrays[number] = _copied(arrays[number])
                else:
                    values.pop(part.inputs[number])
            found = run(*arrays)
            values.update(zip(part.crossing, found, strict=False))
            outputs.update(zip(part.results, found[len(part.crossing) :], strict=True))
        return [outputs[i] for i in range(len(outputs))]

    def _at(self, place: StageDevices, stage: int, number: int, values: dict[int, Any]) -> Any:
        """A value on the devices of a stage; it is moved if necessary."""
        array = values[number]
        return array if place.holds(array) else place.whole(array)

    # ---- inputs --------------------------------------------------------------------------------

    def _inputs(self, arguments: Sequence[Any]) -> dict[int, Any]:
        """All inputs of the step; states stay in their home stages."""
        found: dict[int, Any] = {}
        for number, given in enumerate(self.program.inputs):
            if given.source is InputSource.RANDOM:
                found[number] = peek_key()
            elif given.source is InputSource.ARGUMENT:
                found[number] = self._argument(number, as_array(arguments[given.which]))
            else:
                found[number] = self._state(number, given.which)
        return found

    def _argument(self, number: int, array: Any) -> Any:
        """A global argument: every process passes all of it, or its rows."""
        wanted = self.program.graph.parameters[number].type.shape
        if self._is_shared and tuple(array.shape) != tuple(wanted):
            return rows_of_all(array)
        return array

    def _state(self, number: int, tensor: Any) -> Any:
        if number in self._network:
            wanted = self.pipeline.home_sharding(self._network[number])
        elif number in self._homes:
            place = self.places[self._homes[number]]
            mesh, placement = self.step.placements.get(number, (None, _whole(tensor)))
            wanted, array = place.sharding(placement, mesh), tensor._data
            if place.has(array, wanted):
                return array
        else:
            return tensor._data
        array = np.array(tensor._data) if tensor._shared else tensor._data
        moved = self.places[0].put(array, wanted)
        if moved is not tensor._data and not tensor._shared:
            tensor._data = moved
        return moved

    def _shared(self) -> set[int]:
        """The states whose arrays are shared with other tensors: they must not be donated."""
        found = set()
        for number, given in enumerate(self.program.inputs):
            if given.source is InputSource.STATE:
                array = given.which._data
                if given.which._shared or getrefcount(array) > _REFERENCES:
                    found.add(number)
        return found

    # ---- plans -----------------------------------------------------------------------------------

    @property
    def _homes(self) -> Any:
        return self.step.homes

    @property
    def _result_stage(self) -> int:
        chunk = next(s.number for s in self.step.pipeline.stages if 0 in s.results)
        return self.pipeline.place_of(chunk)

    def _given_away(self, number: int) -> tuple[int, ...]:
        """The inputs of a part to donate: states that it writes and that no later part reads."""
        step, program = self.step, self.program
        part: StepPartProgram = step.parts[number]
        later = {i for p in step.parts[number + 1 :] for i in p.inputs}
        later |= set(step.passed.values())
        written = {id(t) for t in program.writes}
        own = {
            i
            for place, i in enumerate(part.inputs)
            if i < len(program.inputs)
            and program.inputs[i].source is InputSource.STATE
            and id(program.inputs[i].which) in written
            and step.homes.get(i) == part.stage
            and i not in later
        }
        return tuple([place for place, i in enumerate(part.inputs) if i in own])

    def _part_outputs(self, part: StepPartProgram) -> list[Any] | None:
        """The shardings of a part's results, for other processes; in one process, XLA chooses.

        States keep their shardings; other results are replicated.
        """
        if not self._is_shared:
            return None
        place, program = self.places[part.stage], self.program
        found = [place.sharding(replicated(len(t.shape))) for t in part.graph.output.type]
        numbers = {id(g.which): i for i, g in enumerate(program.inputs)}
        for at, output in enumerate(part.results, len(part.crossing)):
            if output >= program.results:
                state = numbers.get(id(program.writes[output - program.results]), -1)
                if self._homes.get(state) == part.stage:
                    found[at] = self._home_sharding(state, len(part.graph.output.type[at].shape))
        return found

    def _home_sharding(self, number: int, ndim: int) -> Any:
        """The sharding of a step state in its home stage."""
        if number in self._network:
            return self.pipeline.home_sharding(self._network[number])
        mesh, placement = self.step.placements.get(number, (None, replicated(ndim)))
        return self.places[self._homes[number]].sharding(placement, mesh)

    # ---- inspection ---------------------------------------------------------------------------

    @property
    def report(self) -> PipelineReport:
        """The planned costs, and the peak of stored bytes in the last step."""
        pipeline = self.pipeline
        return replace(
            self._planned,
            measured=tuple(pipeline.most_bytes),
            measured_live=tuple(pipeline.most_live),
        )

    def text(self, arguments: Sequence[Any]) -> str:
        raise _several("text")

    def memory(self, arguments: Sequence[Any]) -> Any:
        raise _several("memory")


class _StepPrologue:
    """Computes the arguments of the pipeline; arguments that are passed on are not copied."""

    def __init__(self, graph: Graph, place: StageDevices) -> None:
        assert isinstance(graph.output, Apply)
        numbers = {p: i for i, p in enumerate(graph.parameters)}
        nodes = graph.output.args
        self._passed = {i: numbers[n] for i, n in enumerate(nodes) if isinstance(n, GraphParameter)}
        self._made = [i for i in range(len(nodes)) if i not in self._passed]
        made: tuple[GraphNode, ...] = tuple([nodes[i] for i in self._made])
        graph.output = graph.apply(graph.output.fn, *made, type=tuple([n.type for n in made]))
        used = used_parameters(graph)
        self._inputs = [numbers[p] for p in graph.parameters if p in used]
        graph.parameters = tuple([p for p in graph.parameters if p in used])
        self._place = place
        self._run = place.compiled(graph)

    def __call__(self, values: dict[int, Any]) -> list[Any]:
        found = {i: replicate_everywhere(values[number]) for i, number in self._passed.items()}
        if self._made:
            arrays = [self._place.whole(values[i]) for i in self._inputs]
            found |= zip(self._made, self._run(*arrays), strict=True)
        return [found[i] for i in sorted(found)]


def _copied(array: Any) -> Any:
    return array.copied() if isinstance(array, StageArray) else jax.numpy.array(array)


def _whole(tensor: Any) -> Placement:
    return replicated(len(tensor._data.shape))


def _several(what: str) -> Exception:
    return problem(
        RuntimeError,
        f"a pipelined step has no {what}: it consists of several programs",
        fix="see its report, which lists the cost and memory of each stage",
    )
