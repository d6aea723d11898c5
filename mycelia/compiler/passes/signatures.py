"""Copies of graphs that take other parameters or give fewer results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mycelia.compiler.passes.matching import results_of
from mycelia.ir.clone import copy_nodes
from mycelia.ir.graph import Graph
from mycelia.ir.node import Apply, Constant, Node, Parameter

Source = int | Constant  # where a value comes from: a parameter by its number, or a constant


def remade(
    graph: Graph,
    parameters: Sequence[Node],
    sources: Mapping[Node, Source],
    results: Sequence[int] | None = None,
) -> Graph:
    """A copy of `graph` with one parameter for each node in `parameters`, named and typed like it.

    `sources` says for parameters and other nodes of the graph what stands in their place; if
    `results` are named, the copy gives only these.
    """
    new = Graph(graph.name, span=graph.span)
    new.parameters = _parameters_like(parameters, new)
    mapping: dict[Node, Node] = {
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


def by_number(graph: Graph, sources: Mapping[int, Source]) -> dict[Node, Source]:
    """Sources of parameters named by their numbers, as sources of nodes."""
    return {graph.parameters[number]: source for number, source in sources.items()}


def _parameters_like(nodes: Sequence[Node], graph: Graph) -> tuple[Parameter, ...]:
    taken: set[str] = set()
    found = []
    for node in nodes:
        wanted = node.name if isinstance(node, Parameter) else "outer"
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        taken.add(name)
        found.append(Parameter(name, graph, span=node.span, type=node.type))
    return tuple(found)
