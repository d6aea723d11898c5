"""Dead code elimination for unused results of branches and loops, from the outside in."""

from __future__ import annotations

from typing import Any

from mycelia._engine.compiler.passes.patterns import is_control, replacement, results_of
from mycelia._engine.compiler.passes.signatures import Source, by_number, remade
from mycelia._engine.ir.analysis import ordered, used_parameters
from mycelia._engine.ir.control_flow import (
    CALL,
    SWITCH,
    WHILE,
    Item,
    graphs_of,
    operands_of,
    primitive_of,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode, GraphParameter
from mycelia._engine.ir.rewrite import rebuilt


def drop_unused_results(root: Graph) -> int:
    """Remove unused results of branches and carries of loops; returns the number of changed nodes.

    A carry is used if its final value is, if the loop condition reads it, or if a used carry
    depends on it.
    """
    changed = 0
    waiting, seen = [root], {root}
    while waiting:
        graph = waiting.pop()
        nodes = ordered(graph)
        control = [n for n in nodes if isinstance(n, Apply) and is_control(n)]
        if not control:
            continue
        wasteful = _wasteful(graph, nodes, control)
        if wasteful:
            new = _without_waste(graph, nodes, wasteful)
            control = [new[n] for n in control]
            changed += len(wasteful)
        inner = dict.fromkeys(g for n in control for g in graphs_of(n) if g not in seen)
        seen.update(inner)
        waiting += inner
    return changed


def _without_waste(
    graph: Graph, nodes: list[GraphNode], wasteful: dict[Apply, list[int]]
) -> dict[GraphNode, Any]:
    """Rebuild `graph` with smaller branches and loops; returns the new node for each node."""
    new: dict[GraphNode, Any] = {}
    for node in nodes:
        new[node] = _reduced(node, wasteful, new) if isinstance(node, Apply) else node
    graph.output = new[graph.output]
    return new


def _reduced(node: Apply, wasteful: dict[Apply, list[int]], new: dict[GraphNode, Any]) -> GraphNode:
    args = tuple([new[a] for a in node.args])
    op = primitive_of(node)
    if node in wasteful:
        reduce = _reduced_switch if op is SWITCH else _reduced_while
        return reduce(rebuilt(node, node.fn, args), wasteful[node])
    if type(op) is Item and node.args[0] in wasteful:
        index = wasteful[node.args[0]].index(op.index)
        return replacement(node, Item(index), args)
    return node if args == node.args else rebuilt(node, node.fn, args)


def _wasteful(graph: Graph, nodes: list[GraphNode], control: list[Apply]) -> dict[Apply, list[int]]:
    """The branches and loops with unused results, and which of their results remain."""
    used: dict[GraphNode, set[int]] = {n: set() for n in control if _gives_tuples(n)}
    whole = {graph.output}
    for node in nodes:
        if not isinstance(node, Apply):
            continue
        op = primitive_of(node)
        if type(op) is not Item:
            whole.update(node.args)
        elif node.args[0] in used:
            used[node.args[0]].add(op.index)
    live = {n: sorted(_live(n, used[n])) for n in control if n in used and n not in whole}
    return {node: results for node, results in live.items() if len(results) < len(node.type)}


def _gives_tuples(node: Apply) -> bool:
    """Whether the results of a branch or loop can be distinguished."""
    op, graphs = primitive_of(node), graphs_of(node)
    if op is CALL:
        return False
    return all(results_of(graph) is not None for graph in (graphs[1:] if op is WHILE else graphs))


def _live(node: Apply, used: set[int]) -> set[int]:
    """The results that remain: for a loop, also the carries that others depend on."""
    if primitive_of(node) is SWITCH:
        return used
    condition, step = graphs_of(node)
    results = results_of(step)
    assert results is not None
    read = used_parameters(condition)
    number: dict[GraphNode, int] = {p: i for i, p in enumerate(step.parameters[: len(results)])}
    live = used | {i for i, p in enumerate(condition.parameters[: len(results)]) if p in read}
    waiting: list[GraphNode] = [results[i] for i in live]
    seen: set[GraphNode] = set()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, Apply):
            waiting += current.args
        elif (
            isinstance(current, GraphParameter)
            and current in number
            and number[current] not in live
        ):
            live.add(number[current])
            waiting.append(results[number[current]])
    return live


def _reduced_switch(node: Apply, kept: list[int]) -> GraphNode:
    graphs = []
    for graph in graphs_of(node):
        sources: dict[GraphNode, Source] = {p: i for i, p in enumerate(graph.parameters)}
        graphs.append(remade(graph, graph.parameters, sources, kept))
    args = (node.args[0], *graphs, *operands_of(node))
    return replacement(node, SWITCH, args, tuple([node.type[i] for i in kept]))


def _reduced_while(node: Apply, kept: list[int]) -> GraphNode:
    (condition, step), operands = graphs_of(node), operands_of(node)
    order = [*kept, *range(len(node.type), len(operands))]
    sources: dict[int, Source] = {old: new for new, old in enumerate(order)}
    test, body = (
        remade(g, [g.parameters[i] for i in order], by_number(g, sources), results)
        for g, results in ((condition, None), (step, kept))
    )
    args = (test, body, *(operands[i] for i in order))
    return replacement(node, WHILE, args, tuple([node.type[i] for i in kept]))
