"""Copies of whole programs, which later rewrites of the original do not change."""

from __future__ import annotations

from dataclasses import replace

from mycelia._engine.ir.analysis import ordered, reachable_graphs
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter


def copy_program(root: Graph) -> Graph:
    """A deep copy of `root` and all graphs that it reaches."""
    graphs = {graph: Graph(graph.name, span=graph.span) for graph in reachable_graphs(root)}
    nodes: dict[GraphNode, GraphNode] = {}
    for graph, copy in graphs.items():
        copies = [replace(p, graph=copy) for p in graph.parameters]
        copy.parameters = tuple(copies)
        nodes.update(zip(graph.parameters, copies, strict=True))
    for graph, copy in graphs.items():
        for node in ordered(graph):
            if node not in nodes:
                nodes[node] = _copied(node, graphs, nodes)
        copy.output = nodes[graph.output]
    return graphs[root]


def _copied(
    node: GraphNode, graphs: dict[Graph, Graph], nodes: dict[GraphNode, GraphNode]
) -> GraphNode:
    if isinstance(node, Apply):
        args = tuple([nodes[a] for a in node.args])
        return replace(node, fn=nodes[node.fn], args=args, graph=graphs[node.graph])
    if isinstance(node, GraphParameter):
        return replace(node, graph=graphs[node.graph])
    if isinstance(node, GraphConstant) and isinstance(node.value, Graph):
        return replace(node, value=graphs[node.value])
    return node
