"""Graph verification: invariants that are checked after each compiler stage."""

from __future__ import annotations

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.analysis import all_free_variables, ordered, reachable_graphs
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode, GraphParameter, owner


def verify(root: Graph) -> None:
    """Raise a RuntimeError that names the graph and node if `root` is not well formed."""
    graphs = reachable_graphs(root)
    for graph in graphs:
        _check_parameters(graph)
        for node in ordered(graph):
            _check_node(graph, node)
    loose = [n for n in all_free_variables(root)[root] if owner(n) is not root]
    if loose:
        raise problem(
            RuntimeError,
            f"the graph {root.name} uses a node of a graph that does not enclose it",
            got=f"{_describe(loose[0])}",
        )


def _check_parameters(graph: Graph) -> None:
    names = [p.name for p in graph.parameters]
    if len(set(names)) != len(names):
        raise problem(RuntimeError, f"the graph {graph.name} has two parameters of the same name")
    if any(p.graph is not graph for p in graph.parameters):
        raise problem(RuntimeError, f"the graph {graph.name} lists a parameter of another graph")


def _check_node(graph: Graph, node: GraphNode) -> None:
    if isinstance(node, Apply) and not all(isinstance(n, GraphNode) for n in node.inputs):
        raise problem(RuntimeError, f"{graph.name}: an application has an input that is not a node")
    if isinstance(node, GraphParameter) and node not in node.graph.parameters:
        raise problem(
            RuntimeError,
            f"{graph.name}: a parameter is not listed by its graph",
            got=_describe(node),
        )


def _describe(node: GraphNode) -> str:
    holder = owner(node)
    name = node.name if isinstance(node, GraphParameter) else type(node).__name__
    return f"{name} of {holder.name}" if holder is not None else name
