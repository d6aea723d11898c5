"""The layouts of a pipeline stage: forward and backward are planned jointly, then split.

In the joint program, the backward pass reads residuals directly, so weights, residuals, and
gradients get placements that suit both passes. A gradient sum has the placement of its weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.sharding.boundary_layouts import BoundaryLayouts
from mycelia._engine.compiler.sharding.planner import PlannedProgram
from mycelia._engine.compiler.sharding.problem import InstanceOutput
from mycelia._engine.compiler.sharding.request import PlanRequest
from mycelia._engine.distributed.mesh import Mesh, Placement, replicated
from mycelia._engine.ir.analysis import used_parameters
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.control_flow import TUPLE, tuple_elements
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import GraphNode
from mycelia._engine.ir.program import Program, ProgramInput
from mycelia._engine.parallel.pipeline.equal_stages import StagePlanCache
from mycelia._engine.parallel.pipeline.stage_gradients import StageGraphs
from mycelia.ops.collective.redistribute import Redistribute


@dataclass(frozen=True, eq=False)
class StageLayout:
    """A planned stage: its mesh, its graphs with layouts, and the placements of its inputs."""

    mesh: Mesh
    graphs: StageGraphs
    inputs: tuple[Placement, ...]
    planned: PlannedProgram | None = None  # of the joint program


@dataclass(frozen=True, eq=False)
class JointStage:
    """Forward and backward of a stage as one program.

    Its inputs are those of the stage, then incoming gradients (`seeds` of them), then sums. Its
    first results are those of the forward pass; results that return to inputs follow.
    """

    graphs: StageGraphs
    program: Program
    seeds: int

    @property
    def forward_results(self) -> int:
        return self.program.results

    @property
    def kept(self) -> range:
        """The indices of results that the backward pass reads."""
        return range(self.forward_results - self.graphs.kept, self.forward_results)


def unsharded_stage(graphs: StageGraphs) -> StageLayout:
    """A stage that is not sharded."""
    inputs = tuple([replicated(p.type.ndim) for p in graphs.forward.parameters])
    return StageLayout(Mesh((1,)), graphs, inputs)


def join_stage(
    graphs: StageGraphs,
    inputs: Sequence[ProgramInput],
    seeds: Sequence[ProgramInput],
    written: Mapping[int, Any],
) -> JointStage:
    """Build the joint program of a stage from its inputs and incoming gradients.

    `written` maps results of the forward pass to the tensors whose new values they are.
    """
    forward, backward = graphs.forward, graphs.backward
    builder = GraphBuilder(forward.name.removesuffix("_forward"), span=forward.span)
    target = builder.graph
    mapping: dict[GraphNode, GraphNode] = {
        p: target.parameter(p.name, span=p.span, type=p.type) for p in forward.parameters
    }
    results = copy_nodes(tuple_elements(forward.output), target, mapping)
    given, returned = list(inputs), [results[place] for place in written]
    writes = list(written.values())
    if backward is not None:
        again, first = len(graphs.inputs), len(graphs.inputs) + graphs.kept
        own: dict[GraphNode, GraphNode] = {
            parameter: mapping[forward.parameters[number]]
            for parameter, number in zip(backward.parameters, graphs.inputs, strict=False)
        }
        kept = results[len(results) - graphs.kept :]
        own |= zip(backward.parameters[again:first], kept, strict=True)
        for parameter in backward.parameters[first:]:
            own[parameter] = builder.parameter(parameter.name, parameter.type)
        returned += copy_nodes(tuple_elements(backward.output), target, own)
        sums = [inputs[i] for i in graphs.summed]
        given += [*seeds, *sums]
        writes += [inputs[i].which for i in (*graphs.pulled, *graphs.summed)]
    nodes = (*results, *returned)
    target.output = target.apply(TUPLE, *nodes, type=tuple([n.type for n in nodes]))
    program = Program(target, tuple(given), len(results), tuple(writes), 0, None)
    return JointStage(graphs, program, len(seeds))


def shard_stage(
    joint: JointStage, request: PlanRequest, boundary: BoundaryLayouts, plans: StagePlanCache
) -> StageLayout:
    """Plan a stage, or reuse the plan of an isomorphic one."""
    planned = plans.plan(joint.program, request, boundary)
    spread = planned.program.spread
    assert spread is not None
    found = _with_forward(joint, planned)
    if found.backward is not None:
        found = _with_backward(found, joint, planned)
    return StageLayout(spread.mesh, found, spread.inputs[: len(found.forward.parameters)], planned)


def seed_placements(joint: JointStage, layout: StageLayout) -> tuple[Placement, ...]:
    """The placements that the stage prefers for incoming gradients."""
    assert layout.planned is not None and layout.planned.program.spread is not None
    first = len(layout.inputs)
    return layout.planned.program.spread.inputs[first : first + joint.seeds]


def _with_forward(joint: JointStage, planned: PlannedProgram) -> StageGraphs:
    graph, old = planned.program.graph, joint.graphs.forward
    target = Graph(old.name, span=old.span)
    mapping: dict[GraphNode, GraphNode] = {
        p: target.parameter(p.name, span=p.span, type=p.type)
        for p in graph.parameters[: len(old.parameters)]
    }
    found = copy_nodes(tuple_elements(graph.output)[: joint.forward_results], target, mapping)
    target.output = target.apply(TUPLE, *found, type=tuple([n.type for n in found]))
    return replace(joint.graphs, forward=target)


def _with_backward(graphs: StageGraphs, joint: JointStage, planned: PlannedProgram) -> StageGraphs:
    """The backward pass is the rest of the joint graph, with residuals as parameters."""
    assert graphs.backward is not None
    graph, count = planned.program.graph, len(graphs.forward.parameters)
    results = tuple_elements(graph.output)
    builder = GraphBuilder(graphs.backward.name, span=graph.span)
    target = builder.graph
    inputs = [target.parameter(p.name, span=p.span, type=p.type) for p in graph.parameters[:count]]
    mapping: dict[GraphNode, GraphNode] = dict(zip(graph.parameters, inputs, strict=False))
    for number in joint.kept:
        parameter = builder.parameter("kept", results[number].type)
        mapping[results[number]] = _as_inside(planned, number, parameter, target)
    for old in graph.parameters[count:]:
        mapping[old] = builder.parameter(old.name, old.type)
    outputs = results[len(results) - len(graphs.pulled) - len(graphs.summed) :]
    found = copy_nodes(outputs, target, mapping)
    target.output = target.apply(TUPLE, *found, type=tuple([n.type for n in found]))
    used = used_parameters(target)
    again = tuple([i for i, parameter in enumerate(inputs) if parameter in used])
    target.parameters = (*[inputs[i] for i in again], *target.parameters[count:])
    return replace(graphs, backward=target, inputs=again)


def _as_inside(
    planned: PlannedProgram, number: int, parameter: GraphNode, target: Graph
) -> GraphNode:
    """A residual; between programs it is split evenly or replicated, inside as planned."""
    leaf, mesh = planned.problem.results[number], planned.prices.mesh
    if not isinstance(leaf, InstanceOutput):
        return parameter
    placement = planned.placements.of(leaf)
    if placement.is_even(leaf.type.shape, mesh):
        return parameter
    return target.apply(Redistribute.of(mesh.sizes, placement.dims), parameter, type=parameter.type)
