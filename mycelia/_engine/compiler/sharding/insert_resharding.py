"""Writing a plan into a graph: resharding is inserted where layouts of tensors differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mycelia._engine.compiler.sharding.independent_subgraphs import flat_types
from mycelia._engine.compiler.sharding.problem import (
    Context,
    InstanceOutput,
    OperatorInstance,
    ShardingProblem,
)
from mycelia._engine.compiler.sharding.strategies import Strategy
from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.distributed.redistribution import route
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.control_flow import (
    CALL,
    RECOMPUTE,
    SWITCH,
    TUPLE,
    WHILE,
    Custom,
    Item,
    Scan,
    graphs_of,
    primitive_of,
    tuple_elements,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia.ops.collective.redistribute import Redistribute, SpreadBarrier
from mycelia.ops.shapes.reshape import Barrier

Chosen = Mapping[OperatorInstance, Strategy]


class Placements:
    """The placements of all tensors under the chosen strategies."""

    def __init__(self, chosen: Chosen) -> None:
        self._inputs = {instance: s.inputs(instance) for instance, s in chosen.items()}
        self._outputs = {instance: s.outputs(instance) for instance, s in chosen.items()}

    def of(self, leaf: InstanceOutput) -> Placement:
        return self._outputs[leaf.source][leaf.index]

    def inputs(self, instance: OperatorInstance) -> tuple[Placement, ...]:
        return self._inputs[instance]

    def outputs(self, instance: OperatorInstance) -> tuple[Placement, ...]:
        return self._outputs[instance]


def insert_resharding(
    graph: Graph, problem: ShardingProblem, placements: Placements, mesh: Mesh
) -> Graph:
    """A copy of the graph in which every tensor has the placement that the strategies say."""
    writer = _ReshardingInserter(problem, placements, mesh)
    target = Graph(graph.name, span=graph.span)
    mapping: dict[GraphNode, GraphNode] = {
        p: target.parameter(p.name, span=p.span, type=p.type) for p in graph.parameters
    }
    for parameter, instance in zip(target.parameters, problem.inputs, strict=True):
        writer.lies[parameter] = placements.outputs(instance)[0]
    output = writer.graph(graph, target, mapping, ())
    assert isinstance(output, Apply)
    target.output = writer.returned(output, problem)
    return target


class _ReshardingInserter:
    def __init__(self, problem: ShardingProblem, placements: Placements, mesh: Mesh) -> None:
        self._by_node = problem.by_node
        self._placements = placements
        self._mesh = mesh
        self._moved: dict[tuple[GraphNode, Placement], GraphNode] = {}
        self.lies: dict[GraphNode, Placement] = {}  # known placements of tensors of the new graph

    def graph(
        self, graph: Graph, target: Graph, mapping: dict[GraphNode, GraphNode], at: Context
    ) -> GraphNode:
        for node in ordered(graph):
            if isinstance(node, Apply) and node not in mapping:
                mapping[node] = self._apply(node, target, mapping, at)
            elif isinstance(node, GraphConstant):
                mapping[node] = node
        return mapping[graph.output]

    def returned(self, output: Apply, problem: ShardingProblem) -> GraphNode:
        """The results; those that return to inputs are resharded to the inputs' placements."""
        back = {
            id(leaf): self._placements.outputs(instance)[0]
            for instance in problem.inputs
            for leaf, _ in instance.returns
        }
        args = [
            self._move(node, back[id(leaf)], output.graph) if id(leaf) in back else node
            for node, leaf in zip(output.args, problem.results, strict=True)
        ]
        return output.graph.apply(TUPLE, *args, span=output.span, type=output.type)

    # ---- one node ------------------------------------------------------------------------------

    def _apply(
        self, node: Apply, target: Graph, mapping: dict[GraphNode, GraphNode], at: Context
    ) -> GraphNode:
        op = primitive_of(node)
        args = [mapping[a] for a in node.args]
        if op is TUPLE or type(op) in (Item, Custom):
            return _copied(node, target, args)
        if op is CALL or op is RECOMPUTE:
            inner = graphs_of(node)[0]
            new = self._inner(inner, (*at, node), {})
            return _copied(node, target, _with_graphs(args, {inner: new}))
        if op is SWITCH or op is WHILE or type(op) is Scan:
            return self._control(node, target, args, at)
        instances = self._by_node[at, node]
        wanted: dict[int, Placement] = {}
        for instance in instances:
            for index, leaf, placement in zip(
                instance.places, instance.inputs, self._placements.inputs(instance), strict=True
            ):
                if leaf is not None and self._placements.of(leaf) != placement:
                    wanted[index] = placement
        args = self._laid_out(node, args, wanted, target)
        made = _copied(node, target, args)
        if type(op) is Barrier:
            made = target.apply(self._barrier(args, target), *args, span=node.span, type=node.type)
        return self._pinned(made, instances, target)

    def _barrier(self, args: Sequence[GraphNode], target: Graph) -> SpreadBarrier:
        """A barrier that knows the placements of its tensors."""
        lie = [[self.lies.get(n) for n in _parts(arg, target)] for arg in args]
        values, waits = [tuple([p and p.dims for p in places]) for places in lie]
        return SpreadBarrier.of(self._mesh.sizes, values, waits)

    def _laid_out(
        self, node: Apply, args: list[GraphNode], wanted: dict[int, Placement], target: Graph
    ) -> list[GraphNode]:
        """The arguments of an operator, with leaves resharded where needed."""
        if not wanted:
            return args
        count = 0
        found = []
        for old, new in zip(node.args, args, strict=True):
            if isinstance(old, GraphConstant) and old.type is None:
                found.append(new)
                continue
            width = len(flat_types(old.type))
            here = {i - count: p for i, p in wanted.items() if count <= i < count + width}
            found.append(self._moved_parts(new, here, target) if here else new)
            count += width
        return found

    def _moved_parts(
        self, node: GraphNode, wanted: dict[int, Placement], target: Graph
    ) -> GraphNode:
        return self._each(node, target, lambda n, i: self._maybe(n, wanted.get(i), target))

    def _maybe(self, node: GraphNode, placement: Placement | None, target: Graph) -> GraphNode:
        return node if placement is None else self._move(node, placement, target)

    def _each(
        self, node: GraphNode, target: Graph, change: Callable[[GraphNode, int], GraphNode]
    ) -> GraphNode:
        """The node with `change` applied to all its tensors and their indices."""
        numbers = iter(range(len(flat_types(node.type))))

        def walk(part: GraphNode) -> GraphNode:
            if isinstance(part.type, TensorType):
                return change(part, next(numbers))
            if not isinstance(part.type, tuple):
                return part
            parts = [walk(p) for p in _parts(part, target)]
            return target.apply(TUPLE, *parts, type=part.type)

        return walk(node)

    def _pinned(
        self, node: GraphNode, instances: Sequence[OperatorInstance], target: Graph
    ) -> GraphNode:
        """The result of a node, resharded as its operator instances say."""
        wanted: dict[int, Placement] = {}
        for instance in instances:
            for index, placement in zip(
                instance.result_places or range(len(instance.outputs)),
                self._placements.outputs(instance),
                strict=True,
            ):
                if placement.dims:
                    wanted[index] = placement
        if not wanted:
            return node
        return self._moved_parts(node, wanted, target)

    def _move(self, node: GraphNode, placement: Placement, target: Graph) -> GraphNode:
        if isinstance(node, GraphConstant) or not placement.dims:
            return node
        for step in self._steps(node, placement):
            key = (node, step)
            if key not in self._moved:
                op = Redistribute.of(self._mesh.sizes, step.dims)
                self._moved[key] = target.apply(op, node, span=node.span, type=node.type)
                self.lies[self._moved[key]] = step
            node = self._moved[key]
        return node

    def _steps(self, node: GraphNode, placement: Placement) -> list[Placement]:
        """The intermediate placements: each step is one collective, which XLA derives."""
        old, type_ = self.lies.get(node), node.type
        if old is None:
            return [placement]
        steps = route(type_.shape, type_.dtype.numpy.itemsize, old, placement, self._mesh)
        return [step.placement for step in steps]

    # ---- loops and branches --------------------------------------------------------------------

    def _control(self, node: Apply, target: Graph, args: list[GraphNode], at: Context) -> GraphNode:
        op = primitive_of(node)
        new = {}
        for graph in graphs_of(node):
            new[graph] = self._inner(graph, (*at, node, graph.output), self._carry_of(node, at))
        if op is not SWITCH:
            body = graphs_of(node)[-1]
            first = len(args) - len(body.parameters)
            for index, parameter in enumerate(body.parameters):
                (instance,) = self._by_node[(*at, node, body.output), parameter]
                wanted = self._placements.inputs(instance)[0]
                args[first + index] = self._move(args[first + index], wanted, target)
        made = _copied(node, target, _with_graphs(args, new))
        exits = self._by_node.get((at, node), [])
        places = iter(exits)
        wanted_at = {
            i: self._placements.outputs(next(places))[0] for i in range(len(flat_types(node.type)))
        }
        return self._each(made, target, lambda n, i: self._move(n, wanted_at[i], target))

    def _carry_of(self, node: Apply, at: Context) -> dict[int, Placement]:
        """The placements of the first results of a loop body: those of its carry."""
        op = primitive_of(node)
        if op is SWITCH:
            exits = self._by_node.get((at, node), [])
            return {i: self._placements.inputs(instance)[0] for i, instance in enumerate(exits)}
        body = graphs_of(node)[-1]
        count = op.carry if type(op) is Scan else len(body.output.type)
        found = {}
        for index in range(count):
            (instance,) = self._by_node[(*at, node, body.output), body.parameters[index]]
            found[index] = self._placements.outputs(instance)[0]
        return found

    def _inner(self, graph: Graph, at: Context, carried: dict[int, Placement]) -> Graph:
        """A copy of an inner graph, with the placements of its own operator instances."""
        target = Graph(graph.name, span=graph.span)
        mapping: dict[GraphNode, GraphNode] = {}
        for parameter in graph.parameters:
            new = target.parameter(parameter.name, span=parameter.span, type=parameter.type)
            instances = self._by_node.get((at, parameter))
            mapping[parameter] = self._pinned(new, instances, target) if instances else new
        output = self.graph(graph, target, mapping, at)
        if isinstance(graph.output.type, tuple) and carried:
            output = self._each(output, target, lambda n, i: self._maybe(n, carried.get(i), target))
        target.output = output
        return target


def _copied(node: Apply, target: Graph, args: Sequence[GraphNode]) -> Apply:
    return Apply(node.fn, tuple(args), target, span=node.span, type=node.type)


def _with_graphs(args: Sequence[GraphNode], new: Mapping[Graph, Graph]) -> list[GraphNode]:
    """Arguments with inner graphs replaced."""
    return [
        GraphConstant(new[a.value], type=a.type)
        if isinstance(a, GraphConstant) and isinstance(a.value, Graph)
        else a
        for a in args
    ]


def _parts(node: GraphNode, target: Graph) -> Sequence[GraphNode]:
    """The elements of a tuple; extracted from it if the graph does not build the tuple."""
    return tuple_elements(node) or [
        target.apply(Item(i), node, type=t) for i, t in enumerate(node.type)
    ]
