"""Copying nodes from one graph into another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode


def copy_into(graph: Graph, target: Graph, mapping: dict[GraphNode, GraphNode]) -> GraphNode:
    """Copy the body of `graph` into `target`; `mapping` replaces its parameters."""
    return copy_nodes([graph.output], target, mapping)[0]


def copy_nodes(
    roots: Sequence[GraphNode], target: Graph, mapping: dict[GraphNode, GraphNode]
) -> list[GraphNode]:
    """Copy `roots` and their inputs into `target`; nodes in `mapping` are not copied."""
    stack: list[tuple[GraphNode, bool]] = [(root, False) for root in roots]
    while stack:
        node, done = stack.pop()
        if node in mapping:
            continue
        if not isinstance(node, Apply):
            mapping[node] = node
        elif done:
            args = tuple([mapping[a] for a in node.args])
            mapping[node] = replace(node, args=args, graph=target)
        else:
            stack.append((node, True))
            stack += [(a, False) for a in node.args if a not in mapping]
    return [mapping[root] for root in roots]


def inline(graph: Graph, target: Graph, args: Sequence[GraphNode]) -> GraphNode:
    """The result of `graph` for `args`, computed in `target`."""
    return copy_into(graph, target, dict(zip(graph.parameters, args, strict=True)))
