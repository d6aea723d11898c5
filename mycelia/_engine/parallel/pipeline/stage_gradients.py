"""Differentiating a stage: a forward graph that also returns residuals, and a backward graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.compiler.autodiff.activity import seed_types
from mycelia._engine.compiler.autodiff.control_flow import ControlFlowGradients
from mycelia._engine.compiler.autodiff.joint_graph import JointGraph, build_joint_graph
from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.compiler.passes.pipeline import optimize
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.analysis import ordered, used_parameters
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.control_flow import TUPLE, tuple_elements
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter
from mycelia._engine.parallel.pipeline.partition import needing
from mycelia.ops.elementwise.arithmetic import Add
from mycelia.tensor.tensor import Tensor

_ADD = Add.of()


@dataclass(frozen=True, eq=False)
class StageGraphs:
    """The forward and backward graphs of a stage.

    `forward` returns the results of the stage, then `kept` residuals. `backward` takes the inputs
    with indices `inputs`, the residuals, the gradients of results (`seeds` lists a result once per
    incoming gradient), and gradient sums; it returns the gradients of the inputs `pulled`, and new
    sums for the inputs `summed`.
    """

    forward: Graph
    kept: int
    backward: Graph | None = None
    inputs: tuple[int, ...] = ()
    pulled: tuple[int, ...] = ()
    summed: tuple[int, ...] = ()


def differentiate_stage(
    graph: Graph,
    seeds: Mapping[int, int],
    pulled: Sequence[int],
    summed: Sequence[int],
    portable: Collection[int],
    keeps: bool = True,
) -> StageGraphs:
    """Differentiate a stage.

    `seeds` maps results to their numbers of incoming gradients. Gradients are needed for the inputs
    `pulled` (sent to earlier stages) and `summed` (accumulated over microbatches). The inputs
    `portable` are always available: values that depend only on them are rematerialized instead of
    stored. Without `keeps`, everything is rematerialized.
    """
    wanted = [*pulled, *summed]
    if not seeds or not wanted:
        return StageGraphs(optimize(_first(graph, ())), 0)
    order = (*seeds, *(i for i in range(len(tuple_elements(graph.output))) if i not in seeds))
    tracer = Tracer(graph.name)
    with tracer.active(_no_calls, _no_numbers):
        first = _first(graph, order)
        seeded = seed_types(first.output.type[: len(seeds)], None)
        part = build_joint_graph(tracer, first, wanted, ControlFlowGradients(tracer), seeded)
        if part.needed is not None:
            raise problem(
                RuntimeError,
                "a pipeline cannot differentiate a loop of unknown length",
                got=f"a while loop in {graph.name}",
                fix="give the loop a fixed number of iterations",
            )
        residuals = _worth_keeping(part, portable) if keeps else []
        forward, stands_for = _forward(part, order, residuals)
        return _with_backward(
            tracer, part, forward, stands_for, list(seeds.values()), pulled, summed
        )


def _with_backward(
    tracer: Tracer,
    part: JointGraph,
    forward: Graph,
    stands_for: Mapping[GraphNode, GraphNode | int],
    counts: Sequence[int],
    pulled: Sequence[int],
    summed: Sequence[int],
) -> StageGraphs:
    builder = GraphBuilder(f"{part.builder.graph.name}_backward")
    mapping: dict[GraphNode, GraphNode] = {
        p: builder.parameter(p.name, p.type) for p in part.parameters
    }
    kept = len({n for n in stands_for.values() if isinstance(n, int)})
    types = {n: node.type for node, n in stands_for.items() if isinstance(n, int)}
    arrays = [builder.parameter("kept", types[i]) for i in range(kept)]
    places = dict(zip(forward.parameters, part.parameters, strict=True))
    for node, found in stands_for.items():
        if isinstance(found, int):
            mapping[node] = arrays[found]
        else:
            mapping[node] = mapping[places[found]] if isinstance(found, GraphParameter) else found
    live = [i for i, g in zip((*pulled, *summed), part.grads, strict=True) if g is not None]
    grads = [g for g in part.grads if g is not None]
    with tracer.building(builder):
        for place, count in enumerate(counts):
            if place not in part.seeds:
                continue
            type_ = part.seeds[place].type
            given = [builder.parameter("seed", type_) for _ in range(count)]
            mapping[part.seeds[place]] = _sum(tracer, given)
        outputs: list[GraphNode] = copy_nodes(grads, builder.graph, mapping)
        sums = live[len(live) - sum(i in summed for i in live) :]
        before = len(live) - len(sums)
        for offset, number in enumerate(sums):
            total = builder.parameter("sum", part.parameters[number].type)
            outputs[before + offset] = _sum(tracer, [total, outputs[before + offset]])
        builder.finish(builder.tuple(tuple(outputs)))
    backward = optimize(builder.graph)
    own = backward.parameters[: len(part.parameters)]
    used = used_parameters(backward)
    inputs = tuple([i for i, p in enumerate(own) if p in used])
    backward.parameters = (*[own[i] for i in inputs], *backward.parameters[len(own) :])
    return StageGraphs(forward, kept, backward, inputs, tuple(live[:before]), tuple(sums))


def _forward(
    part: JointGraph, order: Sequence[int], residuals: Sequence[GraphNode]
) -> tuple[Graph, dict[GraphNode, GraphNode | int]]:
    """The forward graph, and for each residual its index among those stored, or its node."""
    builder = GraphBuilder(f"{part.builder.graph.name}_forward")
    mapping: dict[GraphNode, GraphNode] = {
        p: builder.parameter(p.name, p.type) for p in part.parameters
    }
    back = {place: i for i, place in enumerate(order)}
    outputs = [part.outputs[back[i]] for i in range(len(order))]
    found = copy_nodes([*outputs, *residuals], builder.graph, mapping)
    builder.finish(builder.tuple(tuple(found)))
    forward = optimize(builder.graph)
    results = tuple_elements(forward.output)
    kept: dict[GraphNode, int] = {}
    stands_for: dict[GraphNode, GraphNode | int] = {}
    for residual, node in zip(residuals, results[len(outputs) :], strict=True):
        is_there = isinstance(node, (GraphParameter, GraphConstant))
        stands_for[residual] = node if is_there else kept.setdefault(node, len(kept))
    nodes = (*results[: len(outputs)], *kept)
    forward.output = forward.apply(TUPLE, *nodes, type=tuple([n.type for n in nodes]))
    return forward, stands_for


def _worth_keeping(part: JointGraph, portable: Collection[int]) -> list[GraphNode]:
    """The residuals that depend on data of the microbatch."""
    data = {p for i, p in enumerate(part.parameters) if i not in portable}
    holder = Graph("residuals")
    holder.output = holder.apply(TUPLE, *part.residuals)
    nodes = [n for n in ordered(holder) if isinstance(n, Apply) and n is not holder.output]
    touched = needing(nodes, data)
    return [r for r in part.residuals if r in touched]


def _first(graph: Graph, order: Sequence[int]) -> Graph:
    """A copy of a graph with its results reordered."""
    target = Graph(graph.name, span=graph.span)
    mapping: dict[GraphNode, GraphNode] = {
        p: target.parameter(p.name, type=p.type) for p in graph.parameters
    }
    parts = tuple_elements(graph.output)
    chosen = [parts[i] for i in order] if order else list(parts)
    found = copy_nodes(chosen, target, mapping)
    target.output = target.apply(TUPLE, *found, type=tuple([f.type for f in found]))
    return target


def _sum(tracer: Tracer, nodes: Sequence[GraphNode]) -> GraphNode:
    total = Tensor._wrap(nodes[0])
    for node in nodes[1:]:
        total = _ADD(total, Tensor._wrap(node))
    return tracer.data_node(total)


def _no_calls(fn: Any, args: Any, kwargs: Any) -> Any:
    return fn(*args, **kwargs)


def _no_numbers(node: GraphNode) -> np.ndarray:
    raise GraphBreak(node, "a gradient rule needs the value of a tensor")
