"""Copies of graphs that take other parameters or give fewer results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mycelia._engine.compiler.passes.patterns import results_of
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter

Source = int | GraphConstant  # where a value comes from: a parameter by its number, or a constant


def remade(
    graph: Graph,
    parameters: Sequence[GraphNode],
    sources: Mapping[GraphNode, Source],
    results: Sequence[int] | None = None,
) -> Graph:
    """A copy of `graph` with one parameter for each node in `parameters`, named and typed like it.

    `sources` says for parameters and other nodes of the graph what stands in their place; if
    `results` are named, the copy gives only these.
    """
    new = Graph(graph.name, span=graph.span)
    new.parameters = _parameters_like(parameters, new)
    mapping: dict[GraphNode, GraphNode] = {
        node: new.parameters[source] if isinstance(source, int) else source
        for node, source in sources.items()
    }
    given = results_of(graph)
    if given is None or not isinstance(graph.output, Apply):
        new.output = copy_nodes([graph.output], new, mapping)[0]
        return new
    wanted = given if results is None else [given[i] for i in results]
    parts = tuple(copy_nodes(wanted, new, mapping))
    type_ = tuple([w.type for w in wanted])
    new.output = Apply(graph.output.fn, parts, new, span=graph.output.span, type=type_)
    return new


def by_number(graph: Graph, sources: Mapping[int, Source]) -> dict[GraphNode, Source]:
    """Sources of parameters named by their numbers, as sources of nodes."""
    return {graph.parameters[number]: source for number, source in sources.items()}


def _parameters_like(nodes: Sequence[GraphNode], graph: Graph) -> tuple[GraphParameter, ...]:
    taken: set[str] = set()
    found = []
    for node in nodes:
        wanted = node.name if isinstance(node, GraphParameter) else "outer"
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        taken.add(name)
        found.append(GraphParameter(name, graph, span=node.span, type=node.type))
    return tuple(found)
