"""Planning layouts within pipeline stages, and in the training step around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from mycelia._engine.compiler.sharding.boundary_layouts import BoundaryLayouts
from mycelia._engine.compiler.sharding.plan_report import report
from mycelia._engine.compiler.sharding.planner import plan
from mycelia._engine.compiler.sharding.request import PlanRequest
from mycelia._engine.core.errors import problem
from mycelia._engine.core.process_groups import world
from mycelia._engine.distributed.auto_parallel_settings import ParallelMode, parallel_settings
from mycelia._engine.distributed.mesh import Mesh, Placement, replicated
from mycelia._engine.distributed.plan.plan import Plan, save
from mycelia._engine.ir.program import InputSource, Program, ProgramInput
from mycelia._engine.parallel.multi_device import current_request
from mycelia._engine.parallel.pipeline.chunks import PipelineChunk
from mycelia._engine.parallel.pipeline.equal_stages import StagePlanCache
from mycelia._engine.parallel.pipeline.program import (
    PipelineProgram,
    StageInput,
    StageInputKind,
    StepPartProgram,
    StepProgram,
)
from mycelia._engine.parallel.pipeline.stage_hints import hinted_weights
from mycelia._engine.parallel.pipeline.stage_layouts import (
    JointStage,
    StageLayout,
    join_stage,
    seed_placements,
    shard_stage,
    unsharded_stage,
)
from mycelia._engine.parallel.pipeline.step_tracing import PipelineCall

MeshPlacement = tuple[Mesh, Placement]


def stage_request(devices: int) -> PlanRequest | None:
    """The planning request of a stage on `devices` devices; None if it is not sharded."""
    request = current_request()
    if request is None or devices == 1:
        return None
    if request.sharers is not None and devices % request.sharers:
        raise problem(
            ValueError,
            "optimizer_weight_shard_size must divide the number of devices of a stage",
            got=f"{request.sharers} of {devices} devices",
        )
    return replace(request, cluster=request.cluster.with_devices(devices), whole_batch=True)


# ---- the stages of the network -------------------------------------------------------------------


def lay_out(
    call: PipelineCall, chunks: Sequence[PipelineChunk], devices: Sequence[int], live: Sequence[int]
) -> None:
    """Plan the layout of each chunk, last to first, since later chunks send gradients back.

    `live` is the peak number of runs that a stage holds between forward and backward.
    """
    each, plans = call.settings.segments, StagePlanCache()
    for chunk in reversed(chunks):
        stage = chunk.number % len(devices)
        request = stage_request(devices[stage])
        assert chunk.graphs is not None
        if request is None:
            chunk.layout = unsharded_stage(chunk.graphs)
            continue
        request = replace(request, memory=request.memory / each)
        joint = _joint(call, chunk, request)
        boundary = replace(
            _held(chunk, joint, -(-live[stage] // each)),
            placed=hinted_weights(joint.program, request),
        )
        chunk.layout = _laid_out(chunk, chunks, joint, request, boundary, plans)
    _save(plans_of_chunks(chunks))


def _laid_out(
    chunk: PipelineChunk,
    chunks: Sequence[PipelineChunk],
    joint: JointStage,
    request: PlanRequest,
    boundary: BoundaryLayouts,
    plans: StagePlanCache,
) -> StageLayout:
    """Plan a chunk; plan again if gradients arrive with other layouts than it prefers."""
    found = shard_stage(joint, request, boundary, plans)
    coming = [_arrival(number, chunks, found.mesh) for number, _ in chunk.cotangents]
    first = len(chunk.inputs)
    types = [p.type for p in joint.program.graph.parameters[first : first + joint.seeds]]
    coming += [replicated(type_.ndim) for type_ in types[len(coming) :]]
    if tuple(coming) == seed_placements(joint, found):
        return found
    placed = {**boundary.placed, **dict(enumerate(coming, first))}
    return shard_stage(joint, request, replace(boundary, mesh=found.mesh, placed=placed), plans)


def _arrival(number: int, chunks: Sequence[PipelineChunk], mesh: Mesh) -> Placement:
    """The placement in which the gradient of a crossing value arrives: that of its first reader.

    Between different meshes, it arrives replicated.
    """
    wanted = StageInput(StageInputKind.CROSSING, number)
    reader = next(c for c in chunks if wanted in c.inputs)
    placement = reader.laid_out.inputs[reader.inputs.index(wanted)]
    return placement if reader.laid_out.mesh == mesh else replicated(len(placement.dims))


def _joint(call: PipelineCall, chunk: PipelineChunk, request: PlanRequest) -> JointStage:
    network, graphs = call.network, chunk.graphs
    assert graphs is not None
    cuts_batch = request.mode == ParallelMode.DATA_PARALLEL
    inputs = [
        _between(cuts_batch, network, place)
        if given.kind is StageInputKind.CROSSING
        else network.inputs[given.number]
        for place, given in enumerate(chunk.inputs)
    ]
    seeds = 0
    if graphs.backward is not None:
        seeds = len(graphs.backward.parameters) - len(graphs.inputs) - graphs.kept
        seeds -= len(graphs.summed)
    coming = [_between(cuts_batch, network, len(inputs) + i) for i in range(seeds)]
    written = {
        len(chunk.crossing) + place: network.writes[number - network.results]
        for place, number in enumerate(chunk.part.results)
        if number >= network.results
    }
    return join_stage(graphs, inputs, coming, written)


def _between(cuts_batch: bool, network: Program, place: int) -> ProgramInput:
    """A value between stages: batch data if the batch is split, else a separate tensor."""
    if cuts_batch:
        return ProgramInput(InputSource.ARGUMENT, len(network.inputs) + place)
    return ProgramInput(InputSource.STATE, object())


def _held(chunk: PipelineChunk, joint: JointStage, live: int) -> BoundaryLayouts:
    """The values held by the microbatches between forward and backward."""
    inputs = {
        i: live
        for i in joint.graphs.inputs
        if chunk.inputs[i].kind
        in (StageInputKind.BATCH, StageInputKind.CROSSING, StageInputKind.RANDOM)
    }
    return BoundaryLayouts(held_inputs=inputs, held_results=dict.fromkeys(joint.kept, live))


def plans_of_chunks(chunks: Sequence[PipelineChunk]) -> tuple[Plan, ...]:
    """The plans of all planned chunks."""
    found = [chunk.laid_out.planned for chunk in chunks]
    return tuple([report(planned) for planned in found if planned is not None])


def _save(plans: Sequence[Plan]) -> None:
    """Save the plans to `strategy_ckpt_save_file`, in the first process."""
    file = parallel_settings()["strategy_ckpt_save_file"]
    if file and plans and world().rank == 0:
        save(plans, file)


# ---- the step around them ------------------------------------------------------------------------


def with_layouts(step: StepProgram, devices: Sequence[int]) -> StepProgram:
    """The step, with its parts planned around the placements of the weights."""
    meshes = {stage.number % len(devices): stage.mesh for stage in reversed(step.pipeline.stages)}
    known = _known(step)
    placements: dict[int, MeshPlacement] = {}
    parts = []
    for part in step.parts:
        request = stage_request(devices[part.stage])
        if request is None:
            parts.append(part)
            continue
        request = replace(request, memory=inf, plans=(), arguments=())
        boundary = _boundary(step, part, known | placements, meshes[part.stage])
        planned = plan(_part_program(step, part), request, boundary).program
        assert planned.spread is not None
        parts.append(replace(part, graph=planned.graph))
        for place, number in enumerate(part.inputs):
            if place not in boundary.placed and number not in known:
                placements[number] = (boundary.mesh or Mesh((1,)), planned.spread.inputs[place])
    return replace(step, parts=tuple(parts), placements=placements)


def _known(step: StepProgram) -> dict[int, MeshPlacement]:
    """The placements of weights, their gradients, and other states that the network writes."""
    pipeline = step.pipeline
    found = {
        number: lying
        for state, number in enumerate(step.states)
        if number >= 0 and (lying := _home(pipeline, state)) is not None
    }
    first = len(step.program.inputs) + 1  # after the result of the network
    for number, state in enumerate((*pipeline.differentiated, *pipeline.written), first):
        lying = _home(pipeline, state)
        if lying is not None:
            found[number] = lying
    return found


def _home(pipeline: PipelineProgram, state: int) -> MeshPlacement | None:
    """The placement of a network state in its home stage."""
    wanted, count = StageInput(StageInputKind.STATE, state), pipeline.schedule.devices
    for stage in pipeline.stages:
        if stage.number % count == pipeline.homes[state] and wanted in stage.inputs:
            return stage.mesh, stage.placements[stage.inputs.index(wanted)]
    return None


def _boundary(
    step: StepProgram, part: StepPartProgram, known: dict[int, MeshPlacement], mesh: Mesh
) -> BoundaryLayouts:
    """The known placements of a part's inputs; placements of new states are left to the search."""
    placed: dict[int, Placement] = {}
    for place, number in enumerate(part.inputs):
        is_home = _stage_of(step, number) == part.stage
        if not is_home:
            placed[place] = replicated(part.graph.parameters[place].type.ndim)
        elif number in known and known[number][0] == mesh:
            placed[place] = known[number][1]
    return BoundaryLayouts(mesh, placed)


def _stage_of(step: StepProgram, number: int) -> int | None:
    """The home stage of a value of the step; None for values between parts."""
    pipeline, first = step.pipeline, len(step.program.inputs)
    if number < first:
        return step.homes.get(number)
    given = (*pipeline.differentiated, *pipeline.written)
    if first < number <= first + len(given):
        return pipeline.homes[given[number - first - 1]]
    return None


def _part_program(step: StepProgram, part: StepPartProgram) -> Program:
    """A part as a program that writes its states; its other inputs are tensors."""
    program = step.program
    inputs = [
        program.inputs[number]
        if number < len(program.inputs) and program.inputs[number].source is InputSource.STATE
        else ProgramInput(InputSource.STATE, object())
        for number in part.inputs
    ]
    results = len(part.crossing) + sum(i < program.results for i in part.results)
    writes = [program.writes[i - program.results] for i in part.results if i >= program.results]
    return Program(part.graph, tuple(inputs), results, tuple(writes), 0, None)
