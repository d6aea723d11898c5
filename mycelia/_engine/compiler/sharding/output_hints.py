"""Layout hints for results (`shard` with an `out_strategy`), applied as by `reshard`."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import located
from mycelia._engine.distributed.layout import flat_strategies
from mycelia._engine.ir.analysis import ordered, reachable_graphs
from mycelia._engine.ir.control_flow import TUPLE, Item, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia.ops.collective.redistribute import LayOut


def with_output_hints(graph: Graph) -> Graph:
    """A copy of the graph with results resharded as hinted; the graph itself without hints."""
    wished = any(
        _hint(node) is not None for one in reachable_graphs(graph) for node in ordered(one)
    )
    return _HintedGraphCopy().graph(graph) if wished else graph


def _hint(node: GraphNode) -> Any:
    return getattr(primitive_of(node), "marks", {}).get("out_strategy")


class _HintedGraphCopy:
    """Copies a graph and its inner graphs; a recursive graph is copied once."""

    def __init__(self) -> None:
        self._graphs: dict[Graph, Graph] = {}

    def graph(self, graph: Graph) -> Graph:
        if graph in self._graphs:
            return self._graphs[graph]
        target = self._graphs[graph] = Graph(graph.name, span=graph.span)
        new: dict[GraphNode, GraphNode] = {
            p: target.parameter(p.name, span=p.span, type=p.type) for p in graph.parameters
        }
        for node in ordered(graph):
            if isinstance(node, Apply):
                fn, *args = [new.get(a, a) for a in (node.fn, *node.args)]
                made = Apply(fn, tuple(args), target, span=node.span, type=node.type)
                hint = _hint(node)
                new[node] = made if hint is None else _laid_out(made, hint, target)
            elif isinstance(node, GraphConstant) and isinstance(node.value, Graph):
                new[node] = GraphConstant(self.graph(node.value), type=node.type)
            else:
                new.setdefault(node, node)
        target.output = new[graph.output]
        return target


def _laid_out(node: Apply, hint: Any, target: Graph) -> GraphNode:
    """The results of an operator, each resharded as its strategy says."""
    strategies = list(flat_strategies(hint))
    name = f"{primitive_of(node).name}.shard, out_strategy"
    results = node.type if isinstance(node.type, tuple) else (node.type,)
    if len(strategies) != len(results):
        raise located(
            ValueError,
            f"{name}: expected one strategy per result",
            got=f"{len(strategies)} strategies, {len(results)} results",
            span=node.span,
        )
    if isinstance(node.type, TensorType):
        return target.apply(LayOut.of(strategies[0], name), node, span=node.span, type=node.type)
    parts: list[GraphNode] = []
    for place, (strategy, type_) in enumerate(zip(strategies, results, strict=True)):
        part: GraphNode = target.apply(Item(place), node, span=node.span, type=type_)
        if strategy is not None and isinstance(type_, TensorType):
            part = target.apply(LayOut.of(strategy, name), part, span=node.span, type=type_)
        parts.append(part)
    return target.apply(TUPLE, *parts, span=node.span, type=node.type)
