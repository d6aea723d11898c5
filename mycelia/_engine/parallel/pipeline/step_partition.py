"""Partitioning the rest of a training step around a pipeline by the home stages of its values.

A node runs in the stage of the largest value it needs: an update runs where its parameter is, a
norm of several gradients where the last of them is. Operators that process all parameters together
are split first. Values that depend on no parameter of a stage (learning rates, counters) are
computed wherever they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.compiler.passes.memory_estimate import type_bytes
from mycelia._engine.core.dtype import bool_, float32, promote
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.control_flow import (
    SWITCH,
    TUPLE,
    Item,
    graphs_of,
    operands_of,
    primitive_of,
    tuple_elements,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode, GraphParameter
from mycelia._engine.parallel.pipeline.partition import StageSubgraph, split_by_stage
from mycelia.ops.elementwise.arithmetic import addn, div, maximum, mul
from mycelia.ops.elementwise.exponential import sqrt
from mycelia.ops.elementwise.where import select
from mycelia.ops.optimizer.clip_by_norm import ClipByGlobalNorm
from mycelia.ops.optimizer.support import Update
from mycelia.ops.reduction.reduction import reduce_sum
from mycelia.ops.shapes.reshape import cast, reshape
from mycelia.tensor.tensor import Tensor

_TINY = 1e-30  # the same as in global-norm clipping
_BY_PARAMETER = ("weight_decay", "centralize")  # fields of updates with one entry per parameter


@dataclass(frozen=True, eq=False)
class StepPartition:
    """A partitioned step around one pipeline run.

    `before` computes the arguments of the pipeline from the inputs of the step. The parts after it
    have keys (turn, stage); their inputs are the inputs of the step (`graph.parameters`) and the
    outputs of the pipeline. Outputs of the step that are parameters of `graph` are in `passed`.
    """

    before: Graph
    graph: Graph
    parts: tuple[StageSubgraph, ...]
    passed: Mapping[int, int]  # output index to parameter index
    stages: Mapping[int, int]  # home stages of parameters that have one


def partition_step(
    graph: Graph,
    run: Apply,
    called_with: int,
    homes: Mapping[GraphNode, int],
    given: Sequence[int],
    default: int,
) -> StepPartition:
    """Partition the graph of a step around the node `run`, which has `called_with` arguments.

    `homes` are the stages of graph parameters, `given` those of the results of the run. Nodes
    without a stage go to `default`.
    """
    before = _before(graph, run.args[:called_with])
    tracer = Tracer(graph.name)
    with tracer.active(_call, _no_numbers):
        spreading = _StepPartitioner(tracer, GraphBuilder(graph.name))
        with tracer.building(spreading.builder):
            spreading.start(graph, run, homes, given)
            output = spreading.emit(graph)
    after = spreading.builder.graph
    after.output = output
    keys = _keys(after, spreading.stage_of)
    assert isinstance(output, Apply)
    numbers = {p: i for i, p in enumerate(after.parameters)}
    passed = {i: numbers[o] for i, o in enumerate(output.args) if isinstance(o, GraphParameter)}
    parts = split_by_stage(after, keys, {}, (0, default))
    stages = {i: found for p, i in numbers.items() if (found := spreading.stage_of(p)) is not None}
    return StepPartition(before, after, tuple(parts), passed, stages)


def _before(graph: Graph, nodes: Sequence[GraphNode]) -> Graph:
    target = Graph(f"{graph.name}_before", span=graph.span)
    mapping: dict[GraphNode, GraphNode] = {
        p: target.parameter(p.name, type=p.type) for p in graph.parameters
    }
    found = copy_nodes(nodes, target, mapping)
    target.output = target.apply(TUPLE, *found, type=tuple([f.type for f in found]))
    return target


def _keys(
    graph: Graph, stage_of: Callable[[GraphNode], int | None]
) -> dict[GraphNode, tuple[int, int]]:
    """The key of each node: its stage, and the number of transfers between stages before it."""
    keys: dict[GraphNode, tuple[int, int]] = {}
    turns: dict[GraphNode, tuple[int, int | None]] = {}
    for node in ordered(graph):
        stage = stage_of(node)
        if not isinstance(node, Apply):
            turns[node] = (0, stage)
            continue
        if primitive_of(node) is TUPLE or stage is None:
            continue
        turn = 0
        for leaf in _leaves(node.args):
            before, there = turns.get(leaf, (0, None))
            moves = isinstance(leaf, Apply) and there is not None and there != stage
            turn = max(turn, before + moves)
        turns[node] = (turn, stage)
        keys[node] = (turn, stage)
    return keys


class _StepPartitioner:
    """Rewrites a step so that each node belongs to one stage."""

    def __init__(self, tracer: Tracer, builder: GraphBuilder) -> None:
        self.tracer, self.builder = tracer, builder
        self.mapping: dict[GraphNode, GraphNode] = {}
        self._stages: dict[GraphNode, int | None] = {}

    def start(
        self, graph: Graph, run: Apply, homes: Mapping[GraphNode, int], given: Sequence[int]
    ) -> None:
        """Add the parameters: those of the step, and one for each result of the run."""
        for old in graph.parameters:
            new = self.builder.parameter(old.name, old.type)
            self.mapping[old] = new
            self._stages[new] = homes.get(old)
        found = []
        for type_, stage in zip(run.type, given, strict=True):
            new = self.builder.parameter("given", type_)
            self._stages[new] = stage
            found.append(new)
        self.mapping[run] = self.builder.tuple(tuple(found))

    def emit(self, graph: Graph) -> GraphNode:
        """Copy the body of a graph, node by node."""
        mapping = self.mapping
        waiting: list[tuple[GraphNode, bool]] = [(graph.output, False)]
        while waiting:  # nodes that only the run needs are not reached
            node, done = waiting.pop()
            if node in mapping:
                continue
            if not isinstance(node, Apply):
                mapping[node] = node
            elif done:
                mapping[node] = self._emitted(node, tuple([mapping[a] for a in node.args]))
            else:
                waiting.append((node, True))
                waiting += [(a, False) for a in node.args if a not in mapping]
        return mapping[graph.output]

    def _emitted(self, node: Apply, args: tuple[GraphNode, ...]) -> GraphNode:
        op = primitive_of(node)
        if type(op) is Item and primitive_of(args[0]) is TUPLE:
            assert isinstance(args[0], Apply)
            return args[0].args[op.index]
        if len({s for leaf in _leaves(args) if (s := self.stage_of(leaf)) is not None}) > 1:
            if isinstance(op, Update):
                return self._updates(op, node, args)
            if isinstance(op, ClipByGlobalNorm):
                return self._clipped(args)
            if op is SWITCH and args[0].type.dtype == bool_:
                return self._both_sides(node, args)
        return replace(node, args=args, graph=self.builder.graph)

    def stage_of(self, node: GraphNode) -> int | None:
        """The stage of the largest value a node needs; None if no input has a stage."""
        waiting = [node]
        while waiting:
            now = waiting[-1]
            if now in self._stages:
                waiting.pop()
                continue
            leaves = list(_leaves(now.args)) if isinstance(now, Apply) else []
            missing = [leaf for leaf in leaves if leaf not in self._stages]
            if missing:
                waiting += missing
                continue
            found = [(type_bytes(n.type), s) for n in leaves if (s := self._stages[n]) is not None]
            self._stages[now] = max(found)[1] if found else None
            waiting.pop()
        return self._stages[node]

    # ---- operators that are split ----------------------------------------------------------------

    def _updates(self, op: Update, node: Apply, args: tuple[GraphNode, ...]) -> GraphNode:
        """Split an update into one per stage."""
        names = op.arguments.names
        given = dict(zip(names, args, strict=False))
        params = tuple_elements(given["params"])
        count = len(params)
        each = {name for name, arg in given.items() if len(tuple_elements(arg)) == count}
        by_stage: dict[int | None, list[int]] = {}
        for place, param in enumerate(params):
            by_stage.setdefault(self.stage_of(param), []).append(place)
        found: dict[tuple[str, int], GraphNode] = {}
        for places in by_stage.values():
            own = {n: self._chosen(a, places) if n in each else a for n, a in given.items()}
            fields = {
                name: tuple([values[i] for i in places])
                for name in _BY_PARAMETER
                if (values := getattr(op, name))
            }
            types = tuple([own[name].type for name in op.writes])
            new = self.builder.apply(
                op.with_fields(**fields), tuple(own.values()), (None, types), node.span
            )
            written = self.builder.item(new, 1)
            for number, name in enumerate(op.writes):
                whole = self.builder.item(written, number)
                if name not in each:
                    found[name, 0] = whole
                    continue
                for inside, place in enumerate(places):
                    found[name, place] = self.builder.item(whole, inside)
        wholes = [
            self.builder.tuple(tuple([found[name, i] for i in range(count)]))
            if name in each
            else found[name, 0]
            for name in op.writes
        ]
        return self.builder.tuple((None, self.builder.tuple(tuple(wholes))))

    def _chosen(self, node: GraphNode, places: Sequence[int]) -> GraphNode:
        parts = tuple_elements(node)
        return self.builder.tuple(tuple([parts[i] for i in places]))

    def _clipped(self, args: tuple[GraphNode, ...]) -> GraphNode:
        """Split global-norm clipping: squares are summed in the stage of each tensor."""
        tensors = [Tensor._wrap(n) for n in tuple_elements(args[0])]
        wide = [cast(t, promote(t.dtype, float32)) for t in tensors]
        squares = [cast(reduce_sum(mul(w, w)), wide[0].dtype) for w in wide]
        length = sqrt(maximum(addn(squares), _TINY))
        limit = cast(reshape(Tensor._wrap(args[1]), ()), length.dtype)
        factor = div(limit, maximum(length, limit))
        scaled = [
            cast(mul(w, cast(factor, w.dtype)), t.dtype) for w, t in zip(wide, tensors, strict=True)
        ]
        return self.builder.tuple(tuple([self.tracer.data_node(s) for s in scaled]))

    def _both_sides(self, node: Apply, args: tuple[GraphNode, ...]) -> GraphNode:
        """Compute both sides of a branch, and select each of their results."""
        operands = args[1 + len(graphs_of(node)) :]
        assert len(operands) == len(operands_of(node))
        sides = []
        for graph in graphs_of(node):
            inner = _StepPartitioner(self.tracer, self.builder)
            inner._stages = self._stages
            inner.mapping = dict(zip(graph.parameters, operands, strict=True))
            sides.append(tuple_elements(inner.emit(graph)))
        condition = Tensor._wrap(args[0])
        found = []
        for no, yes in zip(*sides, strict=True):
            if no is yes:
                found.append(no)
                continue
            chosen = select(condition, Tensor._wrap(yes), Tensor._wrap(no))
            found.append(self.tracer.data_node(chosen))
        return self.builder.tuple(tuple(found))


def _leaves(nodes: Sequence[GraphNode]) -> list[GraphNode]:
    """Nodes, with tuples replaced by their elements."""
    found: list[GraphNode] = []
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if primitive_of(node) is TUPLE:
            waiting += reversed(tuple_elements(node))
        else:
            found.append(node)
    return found


def _call(fn: Any, args: Any, kwargs: Any) -> Any:
    return fn(*args, **kwargs)


def _no_numbers(node: GraphNode) -> Any:
    raise RuntimeError("the value of a tensor of a step is not known while tracing")
