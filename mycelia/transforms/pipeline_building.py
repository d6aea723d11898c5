"""From a step that was read to a step in stages: cutting, laying out, differentiating, placing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mycelia.compiler.autodiff.accumulate import is_inexact
from mycelia.compiler.footprint import type_bytes
from mycelia.compiler.parallel.stage_gradients import StageGraphs, differentiated
from mycelia.compiler.parallel.stage_layouts import StageLayout, data_parallel
from mycelia.compiler.parallel.stage_search import flops, stages_by_cost
from mycelia.compiler.parallel.stages import (
    Part,
    Placed,
    cut,
    has_marks,
    needing,
    stages_by_marks,
)
from mycelia.compiler.parallel.step_parts import StepParts, step_parts
from mycelia.core.errors import problem
from mycelia.ir.analysis import ordered
from mycelia.ir.control import primitive_of
from mycelia.ir.node import Apply, Node, Parameter
from mycelia.ir.program import Program, Source
from mycelia.parallel.automatic import ParallelMode, PipelineSettings
from mycelia.runtime.eager.mode import recording_into
from mycelia.runtime.pipeline.places import Place, stage_devices
from mycelia.runtime.pipeline.program import (
    Given,
    Kind,
    PartProgram,
    PipelineProgram,
    StageProgram,
    StepProgram,
)
from mycelia.runtime.pipeline.report import PipelineReport, StageReport
from mycelia.runtime.pipeline.schedule import (
    Schedule,
    gpipe,
    interleaved,
    one_forward_one_backward,
)
from mycelia.runtime.pipeline.step import PipelinedStep
from mycelia.transforms.pipelined import PipelineCall, PipelineRun, pipeline_in


def pipelined_step(program: Program) -> PipelinedStep | None:
    """A step in stages, if there is a pipeline in its program."""
    run = pipeline_in(program)
    if run is None:
        return None
    op = primitive_of(run)
    assert isinstance(op, PipelineRun)
    with recording_into(None):
        return _pipelined(program, run, op.call)


def _pipelined(program: Program, run: Apply, call: PipelineCall) -> PipelinedStep:
    settings = call.settings
    if program.capacity is not None or program.drawn is None or program.unbound:
        raise problem(RuntimeError, "a pipelined step has no loops of unknown length")
    if len(program.graph.output.type) != program.results + len(program.writes):
        raise problem(RuntimeError, "a pipelined step prints nothing and calls no Python")
    alone = settings.mode == ParallelMode.STAND_ALONE
    devices = stage_devices(settings.stages, settings.devices, alone)
    places = [Place(own) for own in devices]
    pipeline, reports = _pipeline(call, [len(own) for own in devices])
    step = _step(program, run, pipeline)
    report = PipelineReport(
        pipeline.schedule.name, call.micro_batches, pipeline.schedule.bubble(), tuple(reports)
    )
    return PipelinedStep(step, places, report)


def _schedule(settings: PipelineSettings, batches: int) -> Schedule:
    if settings.scheduler == "1f1b":
        if settings.segments > 1:
            return interleaved(settings.stages, batches, settings.segments)
        return one_forward_one_backward(settings.stages, batches)
    if settings.scheduler == "gpipe" and settings.segments == 1:
        return gpipe(settings.stages, batches)
    raise problem(
        ValueError,
        "pipeline_config: no such schedule",
        got=f"pipeline_scheduler={settings.scheduler!r} with {settings.segments} segments",
        expected="'1f1b', '1f1b' with pipeline_interleave, or 'gpipe' without",
    )


# ---- the network in stages -----------------------------------------------------------------------


@dataclass
class _Chunk:
    """A chunk while its pipeline is being made."""

    part: Part
    inputs: tuple[Given, ...]
    layout: StageLayout
    crossing: tuple[int, ...]
    active: tuple[int, ...]  # inputs with gradients that earlier chunks want
    trained: tuple[int, ...]  # inputs whose gradients are summed
    graphs: StageGraphs | None = None
    cotangents: tuple[tuple[int, int], ...] = ()
    seeded: tuple[int, ...] = ()

    def pulled(self) -> tuple[int, ...]:
        """The crossing values whose gradients it gives."""
        assert self.graphs is not None
        return tuple([self.inputs[i].number for i in self.graphs.pulled])


def _pipeline(
    call: PipelineCall, devices: Sequence[int]
) -> tuple[PipelineProgram, list[StageReport]]:
    network, settings = call.network, call.settings
    placed = _placed(call)
    total = settings.stages * settings.segments
    parts = cut(placed.graph, placed.places, {}, total - 1)
    if [part.place for part in parts] != list(range(total)):
        raise problem(
            RuntimeError,
            "a network could not be cut into the stages of the pipeline",
            got=f"parts for stages {[part.place for part in parts]} of {total}",
        )
    chunks = _chunks(call, placed, parts, devices)
    _check_writes(call, chunks)
    _differentiate(call, chunks)
    homes: dict[int, int] = {}
    for chunk in chunks:
        for given in chunk.inputs:
            if given.kind is Kind.STATE:
                homes.setdefault(given.number, chunk.part.place % settings.stages)
    for number, one in enumerate(network.inputs):
        if one.source is Source.STATE:
            homes.setdefault(number, 0)
    arguments = [g.which if g.source is Source.ARGUMENT else -1 for g in network.inputs]
    schedule = _schedule(settings, call.micro_batches)
    program = PipelineProgram(
        network,
        tuple([_stage_program(chunk) for chunk in chunks]),
        schedule,
        tuple(arguments),
        call.differentiated,
        homes,
        call.first_draw,
    )
    return program, _reports(call, chunks, program, devices)


def _placed(call: PipelineCall) -> Placed:
    graph, settings = call.network.graph, call.settings
    by_source = {
        source: [i for i, g in enumerate(call.network.inputs) if g.source is source]
        for source in Source
    }
    data = by_source[Source.ARGUMENT]
    if has_marks(graph) and not settings.automatic:
        chosen = {graph.parameters[i] for i in data}
        return stages_by_marks(graph, chosen, settings.stages, settings.segments)
    count = settings.stages * settings.segments
    return stages_by_cost(graph, data, by_source[Source.STATE], count)


def _chunks(
    call: PipelineCall, placed: Placed, parts: Sequence[Part], devices: Sequence[int]
) -> list[_Chunk]:
    network = call.network
    numbers: dict[Node, int] = {p: i for i, p in enumerate(placed.graph.parameters)}
    crossing: dict[Node, int] = {}
    for part in parts:
        for node in part.crossing:
            crossing[node] = len(crossing)
    trained = set(call.differentiated)
    live: set[int] = set()  # crossing values that depend on weights
    found = []
    for part in parts:
        inputs = tuple([_given(network, numbers, crossing, node) for node in part.inputs])
        is_data = [g.kind in (Kind.BATCH, Kind.CROSSING) for g in inputs]
        layout = data_parallel(part.graph, is_data, devices[part.place % len(devices)])
        own = tuple(
            [i for i, g in enumerate(inputs) if g.kind is Kind.STATE and g.number in trained]
        )
        taken = tuple(
            [i for i, g in enumerate(inputs) if g.kind is Kind.CROSSING and g.number in live]
        )
        nodes = [n for n in ordered(part.graph) if isinstance(n, Apply)]
        touched = needing(nodes, {part.graph.parameters[i] for i in (*own, *taken)})
        assert isinstance(part.graph.output, Apply)
        for node, inner in zip(part.crossing, part.graph.output.args, strict=False):
            if inner in touched and is_inexact(inner.type):
                live.add(crossing[node])
        given = tuple([crossing[node] for node in part.crossing])
        found.append(_Chunk(part, inputs, layout, given, taken, own))
    return found


def _given(
    network: Program, numbers: Mapping[Node, int], crossing: Mapping[Node, int], node: Node
) -> Given:
    if not isinstance(node, Parameter):
        return Given(Kind.CROSSING, crossing[node])
    number = numbers[node]
    source = network.inputs[number].source
    if source is Source.STATE:
        return Given(Kind.STATE, number)
    if source is Source.RANDOM:
        return Given(Kind.RANDOM, number)
    return Given(Kind.BATCH if node.type.shape else Kind.WHOLE, number)


def _check_writes(call: PipelineCall, chunks: Sequence[_Chunk]) -> None:
    """A state that the network writes is read and written in one stage only."""
    network = call.network
    numbers = {id(g.which): i for i, g in enumerate(network.inputs)}
    for place, tensor in enumerate(network.writes, network.results):
        number = numbers[id(tensor)]
        readers = {c.part.place for c in chunks if Given(Kind.STATE, number) in c.inputs}
        writers = {c.part.place for c in chunks if place in c.part.results}
        if len(readers | writers) > 1 or not writers:
            raise problem(
                RuntimeError,
                "a network changes a parameter in one stage of a pipeline and reads it in another",
                got=f"{getattr(tensor, 'name', 'a tensor')} in stages {sorted(readers | writers)}",
            )


def _differentiate(call: PipelineCall, chunks: Sequence[_Chunk]) -> None:
    """The graphs of all chunks; the last one first, for it says which gradients come."""
    coming: dict[int, list[int]] = {}  # crossing value: the chunks its gradients come from
    for chunk in reversed(chunks):
        seeds: dict[int, int] = {}
        cotangents: list[tuple[int, int]] = []
        for place, number in enumerate(chunk.crossing):
            if number in coming:
                seeds[place] = len(coming[number])
                cotangents += [(number, reader) for reader in coming[number]]
        if 0 in chunk.part.results:
            seeds[len(chunk.crossing) + chunk.part.results.index(0)] = 1
            chunk.seeded = (0,)
        portable = [i for i, g in enumerate(chunk.inputs) if g.kind is Kind.STATE]
        graph = chunk.layout.graph
        chunk.graphs = differentiated(
            graph, seeds, chunk.active, chunk.trained, portable, call.keeps
        )
        chunk.cotangents = tuple(cotangents)
        for number in chunk.pulled():
            coming.setdefault(number, []).append(chunk.part.place)


def _stage_program(chunk: _Chunk) -> StageProgram:
    graphs = chunk.graphs
    assert graphs is not None
    summed = tuple([chunk.inputs[i].number for i in graphs.summed])
    return StageProgram(
        chunk.part.place,
        chunk.layout.mesh,
        graphs.forward,
        graphs.backward,
        chunk.inputs,
        chunk.layout.inputs,
        chunk.crossing,
        chunk.part.results,
        graphs.kept,
        graphs.inputs,
        chunk.cotangents,
        chunk.seeded,
        chunk.pulled(),
        summed,
    )


# ---- the step around it --------------------------------------------------------------------------


def _step(program: Program, run: Apply, pipeline: PipelineProgram) -> StepProgram:
    network, graph = pipeline.network, program.graph
    states = [i for i, g in enumerate(network.inputs) if g.source is Source.STATE]
    called_with = len(run.args) - len(states)
    numbers = {p: i for i, p in enumerate(graph.parameters)}
    in_step = [-1] * len(network.inputs)
    homes: dict[Node, int] = {}
    for node, state in zip(run.args[called_with:], states, strict=True):
        assert isinstance(node, Parameter)
        in_step[state] = numbers[node]
        homes[node] = pipeline.homes[state]
    last = next(s.number for s in pipeline.stages if 0 in s.results) % pipeline.schedule.devices
    given = [last, *(pipeline.homes[n] for n in (*pipeline.differentiated, *pipeline.written))]
    found = step_parts(graph, run, called_with, homes, given, last)
    parts = _part_programs(found)
    return StepProgram(
        program,
        pipeline,
        tuple(in_step),
        found.before,
        parts,
        found.passed,
        _homes(program, found, parts),
    )


def _part_programs(found: StepParts) -> tuple[PartProgram, ...]:
    names: dict[Node, int] = {p: i for i, p in enumerate(found.graph.parameters)}
    for part in found.parts:
        for node in part.crossing:
            names[node] = len(names)
    return tuple(
        [
            PartProgram(
                part.place[1],
                part.graph,
                tuple([names[n] for n in part.inputs]),
                tuple([names[n] for n in part.crossing]),
                part.results,
            )
            for part in found.parts
        ]
    )


def _homes(program: Program, found: StepParts, parts: Sequence[PartProgram]) -> dict[int, int]:
    """Where the inputs of a step live: with their weights, or where they are written or read."""
    homes = {n: stage for n, stage in found.stages.items() if n < len(program.inputs)}
    numbers = {id(g.which): i for i, g in enumerate(program.inputs)}
    for part in parts:
        for place in part.results:
            if place >= program.results:
                which = program.writes[place - program.results]
                if id(which) in numbers:
                    homes.setdefault(numbers[id(which)], part.stage)
    for number, given in enumerate(program.inputs):
        readers = {p.stage for p in parts if number in p.inputs}
        if given.source is Source.STATE and len(readers) == 1:
            homes.setdefault(number, readers.pop())
    return homes


# ---- what it costs -------------------------------------------------------------------------------


def _reports(
    call: PipelineCall,
    chunks: Sequence[_Chunk],
    program: PipelineProgram,
    devices: Sequence[int],
) -> list[StageReport]:
    types = [p.type for p in call.network.graph.parameters]
    live = program.schedule.live()
    peaks = program.schedule.peaks([_kept(c) for c in chunks])
    found = []
    for stage, count in enumerate(devices):
        own = [c for c in chunks if c.part.place % len(devices) == stage]
        cost = sum(flops(n) for c in own for n in ordered(c.part.graph) if isinstance(n, Apply))
        states = {g.number for c in own for g in c.inputs if g.kind is Kind.STATE}
        found.append(
            StageReport(
                stage,
                len(own),
                count,
                cost,
                sum(type_bytes(types[n]) for n in states),
                sum(_taken(c) for c in own),
                sum(type_bytes(n.type) for c in own for n in c.part.crossing),
                sum(_kept(c) for c in own),
                live[stage],
                peaks[stage],
            )
        )
    return found


def _taken(chunk: _Chunk) -> int:
    pairs = zip(chunk.inputs, chunk.part.graph.parameters, strict=True)
    return sum(type_bytes(p.type) for g, p in pairs if g.kind is Kind.CROSSING)


def _kept(chunk: _Chunk) -> int:
    """The bytes a chunk keeps for the backward of one micro-batch, states apart."""
    graphs = chunk.graphs
    assert graphs is not None
    if graphs.backward is None:
        return 0
    first = len(graphs.inputs)
    parameters = graphs.backward.parameters
    total = sum(type_bytes(p.type) for p in parameters[first : first + graphs.kept])
    for number, parameter in zip(graphs.inputs, parameters, strict=False):
        if chunk.inputs[number].kind not in (Kind.STATE, Kind.WHOLE):
            total += type_bytes(parameter.type)
    return total
