"""The sharding problem of a program: its tensors, the operator instances, and their axes.

An operator instance is an operator (or an independent component of an operator on tuples), an input
of the program, or the boundary of a loop body or branch. Its axes say how it can be split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mycelia._engine.compiler.sharding.independent_subgraphs import (
    OperatorComponent,
    components_of,
    flat_types,
)
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.control_flow import (
    CALL,
    RECOMPUTE,
    SWITCH,
    TUPLE,
    WHILE,
    Custom,
    Effect,
    Item,
    Named,
    Scan,
    graphs_of,
    operands_of,
    primitive_of,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter
from mycelia._engine.ir.program import InputSource, Program
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.axes import Axis

Context = tuple[GraphNode, ...]  # the loops and branches around a node
WHILE_PASSES = 8  # assumed iterations of a loop of unknown length, for its cost


@dataclass(eq=False)
class InstanceOutput:
    """One tensor: the operator instance that produces it, and the index of the result."""

    type: TensorType
    source: OperatorInstance
    index: int


@dataclass(eq=False)
class OperatorInstance:
    """An operation on tensors that can be split along axes.

    `times` is the number of runs. `returns` are tensors that must have the placement of the result
    (the next value of a loop carry, the new value of a parameter), with their number of runs.
    """

    name: str
    node: GraphNode
    axes: tuple[Axis, ...]
    inputs: tuple[InstanceOutput | None, ...]  # None: a constant, which is replicated
    input_types: tuple[TensorType, ...]
    output_types: tuple[TensorType, ...]
    flops: float = 0.0
    times: int = 1
    identity: Any = None  # distinguishes instances with the same axes
    places: tuple[int, ...] = ()  # which data leaves of the node the inputs are
    result_places: tuple[int, ...] = ()  # which leaves of its result the outputs are
    is_input: bool = False
    is_edge: bool = False
    outputs: tuple[InstanceOutput, ...] = ()
    returns: list[tuple[InstanceOutput, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.outputs = tuple([InstanceOutput(t, self, i) for i, t in enumerate(self.output_types)])


@dataclass(eq=False)
class ShardingProblem:
    """All operator instances of a program, inputs before users, also by node."""

    instances: list[OperatorInstance]
    by_node: dict[tuple[Context, GraphNode], list[OperatorInstance]]
    inputs: list[OperatorInstance]  # one for each parameter of the graph
    results: list[Any]  # the leaves of the graph's output


def build_problem(program: Program) -> ShardingProblem:
    """The sharding problem of a program; new values of its inputs return to them.

    Inputs of the same tensor (a weight, and the sum of its gradients) have the same placement.
    """
    builder = _ShardingProblemBuilder()
    graph = program.graph
    alike: dict[int, OperatorInstance] = {}
    inputs: list[OperatorInstance] = []
    for parameter, given in zip(graph.parameters, program.inputs, strict=True):
        key = id(given.which if given.source is InputSource.STATE else parameter)
        if key not in alike:
            alike[key] = builder.input(parameter)
        inputs.append(alike[key])
    env: dict[GraphNode, Any] = dict(
        zip(graph.parameters, [w.outputs[0] for w in inputs], strict=True)
    )
    found = builder.graph(graph, env, (), 1)
    results = list(found)
    for output, number in program.in_place.items():
        if isinstance(results[output], InstanceOutput):
            inputs[number].returns.append((results[output], 1))
    return ShardingProblem(builder.instances, builder.by_node, inputs, results)


class _ShardingProblemBuilder:
    def __init__(self) -> None:
        self.instances: list[OperatorInstance] = []
        self.by_node: dict[tuple[Context, GraphNode], list[OperatorInstance]] = {}

    def add(self, instance: OperatorInstance, context: Context = ()) -> OperatorInstance:
        self.instances.append(instance)
        self.by_node.setdefault((context, instance.node), []).append(instance)
        return instance

    def input(self, parameter: GraphParameter) -> OperatorInstance:
        type_ = parameter.type
        axes = _own_axes(type_, inputs=False)
        instance = OperatorInstance(
            parameter.name, parameter, axes, (), (), (type_,), is_input=True, identity="input"
        )
        return self.add(instance)

    def graph(self, graph: Graph, env: dict[GraphNode, Any], context: Context, times: int) -> Any:
        """The leaves of the output of a graph, from those of its parameters."""
        for node in ordered(graph):
            if isinstance(node, GraphConstant):
                env[node] = _nothing(node.type)
            elif isinstance(node, Apply) and node not in env:
                env[node] = self._apply(node, env, context, times)
        return env[graph.output]

    def _apply(self, node: Apply, env: dict[GraphNode, Any], context: Context, times: int) -> Any:
        op = primitive_of(node)
        if op is TUPLE:
            return tuple([env[a] for a in node.args])
        if type(op) is Item:
            whole = env[node.args[0]]
            return None if whole is None else whole[op.index]
        if type(op) is Custom:
            return env[node.args[-1]]
        if op is CALL or op is RECOMPUTE:
            inner = graphs_of(node)[0]
            values = [env[n] for n in operands_of(node)]
            return self.graph(inner, _given(inner, values), (*context, node), times)
        if op is SWITCH:
            return self._switch(node, env, context, times)
        if op is WHILE:
            return self._while(node, env, context, times)
        if type(op) is Scan:
            return self._scan(op, node, env, context, times)
        return self._operator(op, node, env, context, times)

    # ---- operators ---------------------------------------------------------------------------

    def _operator(
        self, op: Any, node: Apply, env: dict[GraphNode, Any], context: Context, times: int
    ) -> Any:
        args = tuple([_argument(a) for a in node.args])
        data = [(env[a], a.type) for a in node.args if not _is_static(a)]
        leaves = [leaf for value, type_ in data for leaf in flat(value, type_)]
        types = [t for _, type_ in data for t in flat_types(type_)]
        results = flat_types(node.type)
        if isinstance(op, Named) or type(op) is Effect:
            parts = [
                OperatorComponent((), tuple(range(len(types))), tuple(range(len(results))), 0.0)
            ]
        else:
            parts = components_of(op, args, types, results)
        made: list[InstanceOutput | None] = [None] * len(results)
        for part in parts:
            instance = OperatorInstance(
                op.name,
                node,
                part.axes,
                tuple([None if i in part.unused else leaves[i] for i in part.inputs]),
                tuple([types[i] for i in part.inputs]),
                tuple([results[i] for i in part.outputs]),
                part.flops,
                times,
                identity=(op, tuple(map(_hashable, args))) if len(parts) == 1 else type(op),
                places=part.inputs,
                result_places=part.outputs,
            )
            self.add(instance, context)
            for place, leaf in zip(part.outputs, instance.outputs, strict=True):
                made[place] = leaf
        return nested(iter(made), node.type)

    # ---- loops and branches ------------------------------------------------------------------

    def _edge(
        self,
        node: GraphNode,
        sources: Sequence[Any],
        type_: TensorType,
        context: Context,
        times: int,
        *,
        before: int = 0,
        after: int = 0,
    ) -> InstanceOutput:
        """A tensor that enters or leaves an inner graph; leading unsplit dimensions come or go."""
        axes = _own_axes(type_, inputs=True, before=before, after=after, count=len(sources))
        types = [t.type if isinstance(t, InstanceOutput) else type_ for t in sources]
        instance = OperatorInstance(
            "edge",
            node,
            axes,
            tuple([s if isinstance(s, InstanceOutput) else None for s in sources]),
            tuple(types),
            (type_,),
            0.0,
            times,
            identity=("edge", before, after),
            is_edge=True,
        )
        return self.add(instance, context).outputs[0]

    def _switch(self, node: Apply, env: dict[GraphNode, Any], context: Context, times: int) -> Any:
        operands = [env[n] for n in operands_of(node)]
        found = [self._inside(node, graph, operands, context, times) for graph in graphs_of(node)]
        columns = zip(*[flat(value, node.type) for value in found], strict=True)
        leaves = [
            self._edge(node, column, type_, context, times)
            for column, type_ in zip(columns, flat_types(node.type), strict=True)
        ]
        return nested(iter(leaves), node.type)

    def _inside(
        self, node: Apply, graph: Graph, given: Sequence[Any], context: Context, times: int
    ) -> Any:
        inner = (*context, node, graph.output)
        entries = [
            self._edge(parameter, [value], parameter.type, inner, times)
            for parameter, value in zip(graph.parameters, given, strict=True)
        ]
        return self.graph(graph, _given(graph, entries), inner, times)

    def _while(self, node: Apply, env: dict[GraphNode, Any], context: Context, times: int) -> Any:
        condition, step = graphs_of(node)
        operands = [env[n] for n in operands_of(node)]
        self._inside(node, condition, operands, context, times)
        inner = (*context, node, step.output)
        entries = [
            self._edge(parameter, [value], parameter.type, inner, times)
            for parameter, value in zip(step.parameters, operands, strict=True)
        ]
        found = self.graph(step, _given(step, entries), inner, times * WHILE_PASSES)
        return self._carried(node, entries, found, context, times, WHILE_PASSES)

    def _carried(
        self,
        node: GraphNode,
        entries: Sequence[InstanceOutput],
        found: Sequence[Any],
        context: Context,
        times: int,
        passes: int,
    ) -> tuple[Any, ...]:
        """The final carry of a loop: the new values, with the placements of the old ones."""
        results = []
        for entry, new in zip(entries, found, strict=False):
            if isinstance(new, InstanceOutput):
                entry.source.returns.append((new, times * passes))
            results.append(self._edge(node, [entry], entry.type, context, times))
        return tuple(results)

    def _scan(
        self, op: Scan, node: Apply, env: dict[GraphNode, Any], context: Context, times: int
    ) -> Any:
        graph = graphs_of(node)[0]
        operands = [env[n] for n in operands_of(node)]
        inner = (*context, node, graph.output)
        entries = []
        for place, (parameter, value) in enumerate(zip(graph.parameters, operands, strict=True)):
            is_mapped = op.carry <= place < op.carry + op.mapped
            entries.append(
                self._edge(parameter, [value], parameter.type, inner, times, before=int(is_mapped))
            )
        found = self.graph(graph, _given(graph, entries), inner, times * op.length)
        carried = self._carried(node, entries, found[: op.carry], context, times, op.length)
        stacked = [
            self._edge(node, [value], type_, context, times, after=1)
            for value, type_ in zip(found[op.carry :], node.type[op.carry :], strict=True)
        ]
        return *carried, *stacked


def _own_axes(
    type_: TensorType, *, inputs: bool, before: int = 0, after: int = 0, count: int = 1
) -> tuple[Axis, ...]:
    """An axis for each dimension of a tensor that is passed on unchanged."""
    found = []
    for dim, size in enumerate(type_.shape):
        if size < 2 or dim < after:
            continue
        sources = tuple([(i, dim + before - after) for i in range(count)]) if inputs else ()
        found.append(Axis(size, size, sources, ((0, dim),), (), 0.0))
    return tuple(found)


def _given(graph: Graph, values: Sequence[Any]) -> dict[GraphNode, Any]:
    """The values of the parameters of a graph."""
    return dict(zip(graph.parameters, values, strict=True))


def _is_static(node: GraphNode) -> bool:
    return isinstance(node, GraphConstant) and node.type is None


def _argument(node: GraphNode) -> Any:
    return node.value if isinstance(node, GraphConstant) and node.type is None else node.type


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _nothing(type_: Any) -> Any:
    return tuple([_nothing(t) for t in type_]) if isinstance(type_, tuple) else None


def flat(value: Any, type_: Any) -> list[InstanceOutput | None]:
    """The leaves of a value; None for each tensor of a constant."""
    if isinstance(type_, tuple):
        parts = value if isinstance(value, tuple) else (None,) * len(type_)
        return [leaf for v, t in zip(parts, type_, strict=True) for leaf in flat(v, t)]
    return [value] if isinstance(type_, TensorType) else []


def nested(leaves: Iterable[Any], type_: Any) -> Any:
    """Leaves in the nested tuples of a type."""
    if isinstance(type_, tuple):
        return tuple([nested(leaves, t) for t in type_])
    return next(iter(leaves)) if isinstance(type_, TensorType) else None
