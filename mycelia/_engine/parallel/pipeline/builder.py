"""Builds a pipelined training step: partitioning, differentiation, layouts, and schedule."""

from __future__ import annotations

from collections.abc import Sequence

from mycelia._engine.compiler.passes.memory_estimate import type_bytes
from mycelia._engine.core.errors import problem
from mycelia._engine.distributed.auto_parallel_settings import PipelineSettings
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.node import Apply, GraphNode, GraphParameter
from mycelia._engine.ir.program import InputSource, Program
from mycelia._engine.parallel.multi_device import current_request
from mycelia._engine.parallel.pipeline.chunks import (
    PipelineChunk,
    check_writes,
    chunks_of,
    differentiate,
    kept_bytes,
    taken_bytes,
)
from mycelia._engine.parallel.pipeline.devices import StageDevices, stage_devices
from mycelia._engine.parallel.pipeline.layout_planning import lay_out, plans_of_chunks, with_layouts
from mycelia._engine.parallel.pipeline.partition import (
    StagedGraph,
    has_marks,
    split_by_stage,
    stages_by_marks,
)
from mycelia._engine.parallel.pipeline.program import (
    PipelineProgram,
    StageInputKind,
    StageProgram,
    StepPartProgram,
    StepProgram,
)
from mycelia._engine.parallel.pipeline.report import PipelineReport, StageReport
from mycelia._engine.parallel.pipeline.schedule import (
    PipelineSchedule,
    gpipe,
    interleaved,
    one_forward_one_backward,
)
from mycelia._engine.parallel.pipeline.stage_search import flops, stages_by_cost
from mycelia._engine.parallel.pipeline.step_partition import StepPartition, partition_step
from mycelia._engine.parallel.pipeline.step_tracing import PipelineCall, PipelineRun, pipeline_in
from mycelia._engine.parallel.pipeline.training_step import PipelinedStep
from mycelia._engine.runtime.eager.thread_mode import recording_on_tape


def pipelined_step(program: Program) -> PipelinedStep | None:
    """The pipelined step of a program; None if it contains no pipeline."""
    run = pipeline_in(program)
    if run is None:
        return None
    op = primitive_of(run)
    assert isinstance(op, PipelineRun)
    with recording_on_tape(None):
        return _pipelined(program, run, op.call)


def _pipelined(program: Program, run: Apply, call: PipelineCall) -> PipelinedStep:
    settings = call.settings
    if program.capacity is not None or program.drawn is None or program.unbound:
        raise problem(RuntimeError, "a pipelined step cannot contain loops of unknown length")
    if len(program.graph.output.type) != program.results + len(program.writes):
        raise problem(RuntimeError, "a pipelined step cannot print or call Python")
    devices = stage_devices(settings.stages, settings.devices, current_request() is None)
    places = [StageDevices(own) for own in devices]
    pipeline, reports = _pipeline(call, [len(own) for own in devices])
    step = _step(program, run, pipeline, [len(own) for own in devices])
    report = PipelineReport(
        pipeline.schedule.name, call.micro_batches, pipeline.schedule.bubble(), tuple(reports)
    )
    return PipelinedStep(step, places, report)


def _schedule(settings: PipelineSettings, batches: int) -> PipelineSchedule:
    if settings.scheduler == "1f1b":
        if settings.segments > 1:
            return interleaved(settings.stages, batches, settings.segments)
        return one_forward_one_backward(settings.stages, batches)
    if settings.scheduler == "gpipe" and settings.segments == 1:
        return gpipe(settings.stages, batches)
    raise problem(
        ValueError,
        "pipeline_config: unknown schedule",
        got=f"pipeline_scheduler={settings.scheduler!r} with {settings.segments} segments",
        expected="'1f1b', '1f1b' with pipeline_interleave, or 'gpipe' without",
    )


# ---- the stages of the network -------------------------------------------------------------------


def _pipeline(
    call: PipelineCall, devices: Sequence[int]
) -> tuple[PipelineProgram, list[StageReport]]:
    network, settings = call.network, call.settings
    placed = _placed(call)
    total = settings.stages * settings.segments
    parts = split_by_stage(placed.graph, placed.places, {}, total - 1)
    if [part.place for part in parts] != list(range(total)):
        raise problem(
            RuntimeError,
            "the network could not be partitioned into pipeline stages",
            got=f"nodes for stages {[part.place for part in parts]} of {total}",
        )
    schedule = _schedule(settings, call.micro_batches)
    chunks = chunks_of(call, placed, parts)
    check_writes(call, chunks)
    differentiate(call, chunks)
    lay_out(call, chunks, devices, schedule.live())
    homes: dict[int, int] = {}
    for chunk in chunks:
        for given in chunk.inputs:
            if given.kind is StageInputKind.STATE:
                homes.setdefault(given.number, chunk.part.place % settings.stages)
    for number, one in enumerate(network.inputs):
        if one.source is InputSource.STATE:
            homes.setdefault(number, 0)
    arguments = [g.which if g.source is InputSource.ARGUMENT else -1 for g in network.inputs]
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


def _placed(call: PipelineCall) -> StagedGraph:
    graph, settings = call.network.graph, call.settings
    by_source = {
        source: [i for i, g in enumerate(call.network.inputs) if g.source is source]
        for source in InputSource
    }
    data = by_source[InputSource.ARGUMENT]
    if has_marks(graph) and not settings.automatic:
        chosen = {graph.parameters[i] for i in data}
        return stages_by_marks(graph, chosen, settings.stages, settings.segments)
    count = settings.stages * settings.segments
    return stages_by_cost(graph, data, by_source[InputSource.STATE], count)


def _stage_program(chunk: PipelineChunk) -> StageProgram:
    layout = chunk.laid_out
    graphs = layout.graphs
    summed = tuple([chunk.inputs[i].number for i in graphs.summed])
    return StageProgram(
        chunk.part.place,
        layout.mesh,
        graphs.forward,
        graphs.backward,
        chunk.inputs,
        layout.inputs,
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


def _step(
    program: Program, run: Apply, pipeline: PipelineProgram, devices: Sequence[int]
) -> StepProgram:
    network, graph = pipeline.network, program.graph
    states = [i for i, g in enumerate(network.inputs) if g.source is InputSource.STATE]
    called_with = len(run.args) - len(states)
    numbers = {p: i for i, p in enumerate(graph.parameters)}
    in_step = [-1] * len(network.inputs)
    homes: dict[GraphNode, int] = {}
    for node, state in zip(run.args[called_with:], states, strict=True):
        assert isinstance(node, GraphParameter)
        in_step[state] = numbers[node]
        homes[node] = pipeline.homes[state]
    last = next(s.number for s in pipeline.stages if 0 in s.results) % pipeline.schedule.devices
    given = [last, *(pipeline.homes[n] for n in (*pipeline.differentiated, *pipeline.written))]
    found = partition_step(graph, run, called_with, homes, given, last)
    parts = _part_programs(found)
    step = StepProgram(
        program,
        pipeline,
        tuple(in_step),
        found.before,
        parts,
        found.passed,
        _homes(program, found, parts),
    )
    return with_layouts(step, devices)


def _part_programs(found: StepPartition) -> tuple[StepPartProgram, ...]:
    names: dict[GraphNode, int] = {p: i for i, p in enumerate(found.graph.parameters)}
    for part in found.parts:
        for node in part.crossing:
            names[node] = len(names)
    return tuple(
        [
            StepPartProgram(
                part.place[1],
                part.graph,
                tuple([names[n] for n in part.inputs]),
                tuple([names[n] for n in part.crossing]),
                part.results,
            )
            for part in found.parts
        ]
    )


def _homes(
    program: Program, found: StepPartition, parts: Sequence[StepPartProgram]
) -> dict[int, int]:
    """The stages of the inputs of a step: with their weights, or where they are written or read."""
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
        if given.source is InputSource.STATE and len(readers) == 1:
            homes.setdefault(number, readers.pop())
    return homes


# ---- costs -------------------------------------------------------------------------------


def _reports(
    call: PipelineCall,
    chunks: Sequence[PipelineChunk],
    program: PipelineProgram,
    devices: Sequence[int],
) -> list[StageReport]:
    types = [p.type for p in call.network.graph.parameters]
    live = program.schedule.live()
    peaks = program.schedule.peaks([kept_bytes(c) for c in chunks])
    found = []
    for stage, count in enumerate(devices):
        own = [c for c in chunks if c.part.place % len(devices) == stage]
        cost = sum(flops(n) for c in own for n in ordered(c.part.graph) if isinstance(n, Apply))
        states = {g.number for c in own for g in c.inputs if g.kind is StageInputKind.STATE}
        found.append(
            StageReport(
                stage,
                len(own),
                count,
                cost,
                sum(type_bytes(types[n]) for n in states),
                sum(taken_bytes(c) for c in own),
                sum(type_bytes(n.type) for c in own for n in c.part.crossing),
                sum(kept_bytes(c) for c in own),
                live[stage],
                peaks[stage],
                plans_of_chunks(own),
            )
        )
    return found
