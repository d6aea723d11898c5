"""The layouts of one stage of a pipeline: forward and backward planned as one program, cut again.

The joint program reads what the forward keeps directly in the backward, so weights, kept values and
gradients lie where both want them. A sum of gradients lies as its weight does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mycelia.compiler.building import Builder
from mycelia.compiler.parallel.planning import Planned
from mycelia.compiler.parallel.problem import Leaf
from mycelia.compiler.parallel.request import Request
from mycelia.compiler.parallel.settled import Settled
from mycelia.compiler.parallel.stage_alike import AlikePlans
from mycelia.compiler.parallel.stage_gradients import StageGraphs
from mycelia.ir.analysis import used_parameters
from mycelia.ir.clone import copy_nodes
from mycelia.ir.control import TUPLE, parts_of
from mycelia.ir.graph import Graph
from mycelia.ir.node import Node
from mycelia.ir.program import Input, Program
from mycelia.ops.spreading import Redistribute
from mycelia.parallel.mesh import Mesh, Placement, whole


@dataclass(frozen=True, eq=False)
class StageLayout:
    """A stage on its devices: the mesh they are, its graphs with layouts, where inputs lie."""

    mesh: Mesh
    graphs: StageGraphs
    inputs: tuple[Placement, ...]
    planned: Planned | None = None  # of forward and backward together


@dataclass(frozen=True, eq=False)
class JointStage:
    """Forward and backward of a stage as one program.

    Its inputs are those of the stage, then the gradients that come (`seeds` of them), then sums.
    Its first results are those of the forward; what goes back into inputs comes after them.
    """

    graphs: StageGraphs
    program: Program
    seeds: int

    @property
    def forward_results(self) -> int:
        return self.program.results

    @property
    def kept(self) -> range:
        """The numbers of results that the backward reads."""
        return range(self.forward_results - self.graphs.kept, self.forward_results)


def on_one_device(graphs: StageGraphs) -> StageLayout:
    """A stage that is not cut."""
    inputs = tuple([whole(p.type.ndim) for p in graphs.forward.parameters])
    return StageLayout(Mesh((1,)), graphs, inputs)


def joined(
    graphs: StageGraphs,
    inputs: Sequence[Input],
    seeds: Sequence[Input],
    written: Mapping[int, Any],
) -> JointStage:
    """The program of a stage whose inputs and incoming gradients are given.

    `written` says which results of the forward are new values of which tensors.
    """
    forward, backward = graphs.forward, graphs.backward
    builder = Builder(forward.name.removesuffix("_forward"), span=forward.span)
    target = builder.graph
    mapping: dict[Node, Node] = {
        p: target.parameter(p.name, span=p.span, type=p.type) for p in forward.parameters
    }
    results = copy_nodes(parts_of(forward.output), target, mapping)
    given, returned = list(inputs), [results[place] for place in written]
    writes = list(written.values())
    if backward is not None:
        again, first = len(graphs.inputs), len(graphs.inputs) + graphs.kept
        own: dict[Node, Node] = {
            parameter: mapping[forward.parameters[number]]
            for parameter, number in zip(backward.parameters, graphs.inputs, strict=False)
        }
        kept = results[len(results) - graphs.kept :]
        own |= zip(backward.parameters[again:first], kept, strict=True)
        for parameter in backward.parameters[first:]:
            own[parameter] = builder.parameter(parameter.name, parameter.type)
        returned += copy_nodes(parts_of(backward.output), target, own)
        sums = [inputs[i] for i in graphs.summed]
        given += [*seeds, *sums]
        writes += [inputs[i].which for i in (*graphs.pulled, *graphs.summed)]
    nodes = (*results, *returned)
    target.output = target.apply(TUPLE, *nodes, type=tuple([n.type for n in nodes]))
    program = Program(target, tuple(given), len(results), tuple(writes), 0, None)
    return JointStage(graphs, program, len(seeds))


def laid_out(
    joint: JointStage, request: Request, settled: Settled, plans: AlikePlans
) -> StageLayout:
    """The stage with the layouts that are found for it, or were for one like it."""
    planned = plans.plan(joint.program, request, settled)
    spread = planned.program.spread
    assert spread is not None
    found = _with_forward(joint, planned)
    if found.backward is not None:
        found = _with_backward(found, joint, planned)
    return StageLayout(spread.mesh, found, spread.inputs[: len(found.forward.parameters)], planned)


def seed_placements(joint: JointStage, layout: StageLayout) -> tuple[Placement, ...]:
    """Where the stage wants the gradients that come to it."""
    assert layout.planned is not None and layout.planned.program.spread is not None
    first = len(layout.inputs)
    return layout.planned.program.spread.inputs[first : first + joint.seeds]


def _with_forward(joint: JointStage, planned: Planned) -> StageGraphs:
    graph, old = planned.program.graph, joint.graphs.forward
    target = Graph(old.name, span=old.span)
    mapping: dict[Node, Node] = {
        p: target.parameter(p.name, span=p.span, type=p.type)
        for p in graph.parameters[: len(old.parameters)]
    }
    found = copy_nodes(parts_of(graph.output)[: joint.forward_results], target, mapping)
    target.output = target.apply(TUPLE, *found, type=tuple([n.type for n in found]))
    return replace(joint.graphs, forward=target)


def _with_backward(graphs: StageGraphs, joint: JointStage, planned: Planned) -> StageGraphs:
    """The backward is what is left of the joint graph, with what was kept as parameters."""
    assert graphs.backward is not None
    graph, count = planned.program.graph, len(graphs.forward.parameters)
    results = parts_of(graph.output)
    builder = Builder(graphs.backward.name, span=graph.span)
    target = builder.graph
    inputs = [target.parameter(p.name, span=p.span, type=p.type) for p in graph.parameters[:count]]
    mapping: dict[Node, Node] = dict(zip(graph.parameters, inputs, strict=False))
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


def _as_inside(planned: Planned, number: int, parameter: Node, target: Graph) -> Node:
    """A kept value; between programs it is cut evenly or not at all, inside as was planned."""
    leaf, mesh = planned.problem.results[number], planned.prices.mesh
    if not isinstance(leaf, Leaf):
        return parameter
    placement = planned.placements.of(leaf)
    if placement.is_even(leaf.type.shape, mesh):
        return parameter
    return target.apply(Redistribute.of(mesh.sizes, placement.dims), parameter, type=parameter.type)
