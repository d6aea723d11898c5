"""Running a training step around a pipeline, each part where its values live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from sys import getrefcount
from typing import Any

import jax
import numpy as np

from mycelia.core.errors import problem
from mycelia.core.seed import peek_key
from mycelia.ir.analysis import used_parameters
from mycelia.ir.graph import Graph
from mycelia.ir.node import Apply, Node, Parameter
from mycelia.ir.program import Program, Source
from mycelia.parallel.mesh import Placement, whole
from mycelia.runtime.executor import as_array, finish
from mycelia.runtime.pipeline.places import Place
from mycelia.runtime.pipeline.program import PartProgram, StepProgram
from mycelia.runtime.pipeline.report import PipelineReport
from mycelia.runtime.pipeline.running import Pipeline
from mycelia.runtime.scattered import Scattered

_REFERENCES = 3  # of an array that only its tensor holds: the slot, a local name, the count itself


class PipelinedStep:
    """A step of training as an executable: arrays in, arrays out; states stay on their stages."""

    was_on_disk = False
    first_run: float | None = None

    def __init__(self, step: StepProgram, places: Sequence[Place], report: PipelineReport) -> None:
        self.step, self.places = step, places
        self.program: Program = step.program
        self.choices: dict[str, int] = {}
        self.pipeline = Pipeline(step.pipeline, places)
        self._planned = report
        self._before = _Before(step.before, places[0])
        self._network = {s: n for n, s in enumerate(step.states) if s >= 0}
        self._donated = [self._given_away(number) for number in range(len(step.parts))]
        self._parts = [
            places[part.stage].compiled(part.graph, donated)
            for part, donated in zip(step.parts, self._donated, strict=True)
        ]

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """The results for arguments; what the step writes is written."""
        program, pipeline = self.program, self.step.pipeline
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
        outputs = self._run_parts(values, shared)
        Scattered.present = True
        finish(program, outputs, arguments)
        return outputs[: program.results]

    def _run_parts(self, values: dict[int, Any], shared: set[int]) -> list[Any]:
        step = self.step
        outputs: dict[int, Any] = {i: values[p] for i, p in step.passed.items()}
        for part, run, donated in zip(step.parts, self._parts, self._donated, strict=True):
            place = self.places[part.stage]
            arrays = [self._at(place, part.stage, number, values) for number in part.inputs]
            for number in donated:
                if part.inputs[number] in shared:
                    arrays[number] = jax.numpy.array(arrays[number])
                else:
                    values.pop(part.inputs[number])
            found = run(*arrays)
            values.update(zip(part.crossing, found, strict=False))
            outputs.update(zip(part.results, found[len(part.crossing) :], strict=True))
        return [outputs[i] for i in range(len(outputs))]

    def _at(self, place: Place, stage: int, number: int, values: dict[int, Any]) -> Any:
        """A value on the devices of a stage: there already, or moved."""
        array = values[number]
        if isinstance(array, jax.Array) and set(array.devices()) == set(place.devices):
            return array
        return place.whole(array)

    # ---- inputs --------------------------------------------------------------------------------

    def _inputs(self, arguments: Sequence[Any]) -> dict[int, Any]:
        """All inputs of the step; states that live in a stage are there, and stay there."""
        found: dict[int, Any] = {}
        for number, given in enumerate(self.program.inputs):
            if given.source is Source.RANDOM:
                found[number] = peek_key()
            elif given.source is Source.ARGUMENT:
                found[number] = as_array(arguments[given.which])
            else:
                found[number] = self._state(number, given.which)
        return found

    def _state(self, number: int, tensor: Any) -> Any:
        if number in self._network:
            wanted = self.pipeline.home_sharding(self._network[number])
        elif number in self._homes:
            place = self.places[self._homes[number]]
            array = tensor._data
            if isinstance(array, jax.Array) and set(array.devices()) == set(place.devices):
                return array
            wanted = place.sharding(_whole(tensor))
        else:
            return tensor._data
        array = np.array(tensor._data) if tensor._shared else tensor._data
        moved = jax.device_put(array, wanted)
        if moved is not tensor._data and not tensor._shared:
            tensor._data = moved
        return moved

    def _shared(self) -> set[int]:
        """The states whose arrays somebody else looks at: they may not be given away."""
        found = set()
        for number, given in enumerate(self.program.inputs):
            if given.source is Source.STATE:
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
        """Which inputs of a part are states it writes, and that no later part reads."""
        step, program = self.step, self.program
        part: PartProgram = step.parts[number]
        later = {i for p in step.parts[number + 1 :] for i in p.inputs}
        later |= set(step.passed.values())
        written = {id(t) for t in program.writes}
        own = {
            i
            for place, i in enumerate(part.inputs)
            if i < len(program.inputs)
            and program.inputs[i].source is Source.STATE
            and id(program.inputs[i].which) in written
            and step.homes.get(i) == part.stage
            and i not in later
        }
        return tuple([place for place, i in enumerate(part.inputs) if i in own])

    # ---- looking at it ---------------------------------------------------------------------------

    @property
    def report(self) -> PipelineReport:
        """What was planned, and what the last step kept at most."""
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


class _Before:
    """What a step computes before its pipeline; arguments that are passed on are not touched."""

    def __init__(self, graph: Graph, place: Place) -> None:
        assert isinstance(graph.output, Apply)
        numbers = {p: i for i, p in enumerate(graph.parameters)}
        nodes = graph.output.args
        self._passed = {i: numbers[n] for i, n in enumerate(nodes) if isinstance(n, Parameter)}
        self._made = [i for i in range(len(nodes)) if i not in self._passed]
        made: tuple[Node, ...] = tuple([nodes[i] for i in self._made])
        graph.output = graph.apply(graph.output.fn, *made, type=tuple([n.type for n in made]))
        used = used_parameters(graph)
        self._inputs = [numbers[p] for p in graph.parameters if p in used]
        graph.parameters = tuple([p for p in graph.parameters if p in used])
        self._place = place
        self._run = place.compiled(graph)

    def __call__(self, values: dict[int, Any]) -> list[Any]:
        found = {i: values[number] for i, number in self._passed.items()}
        if self._made:
            arrays = [self._place.whole(values[i]) for i in self._inputs]
            found |= zip(self._made, self._run(*arrays), strict=True)
        return [found[i] for i in sorted(found)]


def _whole(tensor: Any) -> Placement:
    return whole(len(tensor._data.shape))


def _several(what: str) -> Exception:
    return problem(
        RuntimeError,
        f"a pipelined step has no {what} of one program",
        fix="look at its report: what each stage costs and keeps",
    )
