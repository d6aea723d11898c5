"""Rewriting graphs by rules, from the inputs up, until no rule applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mycelia.core.errors import problem
from mycelia.ir.analysis import ordered, reachable_graphs
from mycelia.ir.graph import Graph
from mycelia.ir.node import Apply, Node

Rule = Callable[[Apply], Node | None]  # the node to put in place, or None where it does not apply

MOST_ROUNDS = 100


def rewrite(root: Graph, rules: Sequence[Rule]) -> int:
    """Apply `rules` in all graphs reachable from `root`; gives how many replacements were made."""
    total = 0
    for _ in range(MOST_ROUNDS):
        made = _round(root, rules)
        if not made:
            return total
        total += made
    raise problem(
        RuntimeError,
        f"rewriting {root.name} does not come to an end",
        got=f"{total} replacements by {', '.join(r.__name__ for r in rules)}",
        fix="look for two rules that undo each other",
    )


def _round(root: Graph, rules: Sequence[Rule]) -> int:
    """One pass over all graphs. A node that several graphs share is replaced in all of them."""
    new: dict[Node, Node] = {}
    made = 0
    graphs = reachable_graphs(root)
    for graph in graphs:
        for node in ordered(graph):
            if node in new:
                continue
            rebuilt = _rebuilt(node, new)
            found = _first_match(rebuilt, rules) if isinstance(rebuilt, Apply) else None
            made += found is not None
            new[node] = rebuilt if found is None else found
    for graph in graphs:
        graph.output = new[graph.output]
    return made


def _rebuilt(node: Node, new: dict[Node, Node]) -> Node:
    if not isinstance(node, Apply):
        return node
    fn, args = new[node.fn], tuple(new[a] for a in node.args)
    unchanged = fn is node.fn and all(a is b for a, b in zip(args, node.args, strict=True))
    return node if unchanged else replace(node, fn=fn, args=args)


def _first_match(node: Apply, rules: Sequence[Rule]) -> Node | None:
    for rule in rules:
        found = rule(node)
        if found is not None:
            return found
    return None
