"""Copies of graphs with other parameters or fewer results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mycelia._engine.compiler.passes.patterns import results_of
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter

Source = int | GraphConstant  # the source of a value: a parameter's index, or a constant


def remade(
    graph: Graph,
    parameters: Sequence[GraphNode],
    sources: Mapping[GraphNode, Source],
    results: Sequence[int] | None = None,
) -> Graph:
    """A copy of `graph` with one parameter for each node in `parameters`, named and typed like it.

    `sources` maps parameters and other nodes of the graph to what replaces them. If `results` is
    passed, the copy returns only these.
    """
    new = Graph(graph.name, span=graph.span)
    new.parameters = _parameters_like(parameters, new)
    mapping: dict[GraphNode, GraphNode] = {
        node: new.parameters[source] if isinstance(source, int) else source
        for node, source in sources.items()
    }
    outputs = results_of(graph)
    if outputs is None or not isinstance(graph.output, Apply):
        new.output = copy_nodes([graph.output], new, mapping)[0]
        return new
    selected = outputs if results is None else [outputs[i] for i in results]
    parts = tuple(copy_nodes(selected, new, mapping))
    type_ = tuple([w.type for w in selected])
    new.output = Apply(graph.output.fn, parts, new, span=graph.output.span, type=type_)
    return new


def by_number(graph: Graph, sources: Mapping[int, Source]) -> dict[GraphNode, Source]:
    """Sources keyed by parameter index, as sources keyed by node."""
    return {graph.parameters[number]: source for number, source in sources.items()}


def _parameters_like(nodes: Sequence[GraphNode], graph: Graph) -> tuple[GraphParameter, ...]:
    names: set[str] = set()
    parameters = []
    for node in nodes:
        base = node.name if isinstance(node, GraphParameter) else "outer"
        name, number = base, 2
        while name in names:
            name, number = f"{base}_{number}", number + 1
        names.add(name)
        parameters.append(GraphParameter(name, graph, span=node.span, type=node.type))
    return tuple(parameters)
