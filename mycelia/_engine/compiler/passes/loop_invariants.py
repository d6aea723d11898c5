"""Rules for loops: unchanged carries are removed, and invariants are computed outside."""

from __future__ import annotations

from typing import Any

from mycelia._engine.compiler.passes.patterns import (
    is_all,
    is_of,
    is_tensor,
    replacement,
    replacement_items,
    results_of,
    same_value,
)
from mycelia._engine.compiler.passes.shapes import RESHAPES
from mycelia._engine.compiler.passes.signatures import Source, by_number, remade
from mycelia._engine.ir.analysis import ordered, reachable_graphs
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.control_flow import (
    TUPLE,
    WHILE,
    Item,
    Switch,
    Tuple,
    While,
    graphs_of,
    operands_of,
    primitive_of,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter
from mycelia._engine.ir.rewrite import on
from mycelia._engine.operators.operator import Op
from mycelia.ops.shapes.reshape import BroadcastTo

# They cost nothing when computed in each iteration, but may cost memory when stored outside.
_VIEWS = (*RESHAPES, BroadcastTo, Tuple)


@on(While)
def no_passes(node: Apply) -> GraphNode | None:
    """while(@false, @step, *carry, *fixed) = tuple(*carry)"""
    condition, _ = graphs_of(node)
    carry = operands_of(node)[: len(node.type)]
    if not is_all(condition.output, False) or tuple([c.type for c in carry]) != node.type:
        return None
    return replacement(node, TUPLE, carry)


@on(While)
def carry_that_stays(node: Apply) -> GraphNode | None:
    """while(@f, @step, x, y) = tuple(x, item[0](while(@f', @step', y, x))), if step keeps x

    That is, step returns x itself, or a constant or fixed operand that is x's initial value.
    """
    (condition, step), operands = graphs_of(node), operands_of(node)
    stays = _unchanged_carry(step, operands, node)
    if not stays:
        return None
    count = len(node.type)
    carry = [i for i in range(count) if i not in stays]
    if not carry:
        return replacement(node, TUPLE, operands[:count])
    known = {i: operands[i] for i in stays if isinstance(operands[i], GraphConstant)}
    order = [*carry, *(i for i in stays if i not in known), *range(count, len(operands))]
    sources: dict[int, Any] = known | {old: new for new, old in enumerate(order)}
    test, body = (
        remade(g, [g.parameters[i] for i in order], by_number(g, sources), results)
        for g, results in ((condition, None), (step, carry))
    )
    args = (test, body, *(operands[i] for i in order))
    loop = replacement(node, WHILE, args, tuple([node.type[i] for i in carry]))
    items = dict(zip(carry, replacement_items(node, loop, len(carry)), strict=True))
    return replacement(node, TUPLE, [items.get(i, operands[i]) for i in range(count)])


def _unchanged_carry(step: Graph, operands: tuple[GraphNode, ...], node: Apply) -> list[int]:
    results = results_of(step)
    if results is None:
        return []
    unchanged = []
    numbers = {parameter: i for i, parameter in enumerate(step.parameters)}
    for index, result in enumerate(results):
        initial = operands[index]
        number = numbers.get(result) if isinstance(result, GraphParameter) else None
        is_fixed = number is not None and number >= len(results) and operands[number] is initial
        stays = number == index or is_fixed or _same_constant(initial, result)
        if stays and initial.type == node.type[index]:
            unchanged.append(index)
    return unchanged


def _same_constant(first: GraphNode, second: GraphNode) -> bool:
    return isinstance(first, GraphConstant) and same_value(first, second)


@on(While)
def computed_once(node: Apply) -> GraphNode | None:
    """while(@f, @step, *carry, x) = while(@f', @step', *carry, x, h(x)), if step computes h(x)"""
    graphs, operands = graphs_of(node), operands_of(node)
    count = len(node.type)
    moved = [_movable_roots(graph, count) for graph in graphs]
    if not any(moved):
        return None
    outside: list[GraphNode] = []
    for graph, roots in zip(graphs, moved, strict=True):
        mapping: dict[GraphNode, GraphNode] = dict(zip(graph.parameters, operands, strict=True))
        outside += copy_nodes(roots, node.graph, mapping)
    new = []
    first = len(operands)
    for graph, roots in zip(graphs, moved, strict=True):
        sources: dict[GraphNode, Source] = {p: i for i, p in enumerate(graph.parameters)}
        sources |= {root: first + i for i, root in enumerate(roots)}
        new.append(remade(graph, [*graph.parameters, *outside], sources))
        first += len(roots)
    return replacement(node, WHILE, (*new, *operands, *outside))


def _movable_roots(graph: Graph, count: int) -> list[GraphNode]:
    """The last nodes that depend only on fixed parameters: the values to compute once, outside."""
    fixed: set[GraphNode] = set(graph.parameters[count:])
    free: set[GraphNode] = set()  # needs no parameter at all
    roots: dict[GraphNode, None] = {}
    for node in ordered(graph):
        if isinstance(node, GraphConstant):
            free.add(node)
        elif isinstance(node, Apply):
            is_steady = all(a in fixed or a in free for a in node.args) and _may_move(node)
            if is_steady and node is not graph.output:
                (fixed if any(a in fixed for a in node.args) else free).add(node)
            else:
                roots |= dict.fromkeys(a for a in node.args if a in fixed)
    return list(dict.fromkeys(r for root in roots for r in _worth_storing(root, fixed)))


def _worth_storing(node: GraphNode, fixed: set[GraphNode]) -> list[GraphNode]:
    """The node itself, or the inputs of a view or tuple."""
    if not isinstance(node, Apply):
        return []
    if is_of(node, *_VIEWS) or not is_tensor(node):
        return [r for a in node.args if a in fixed for r in _worth_storing(a, fixed)]
    return [node]


def _may_move(node: Apply) -> bool:
    """Whether running a node more often is harmless: no effects and no loops inside."""
    op = primitive_of(node)
    if not isinstance(op, Switch):
        return isinstance(op, (Op, Item, Tuple))
    inside = [g for graph in graphs_of(node) for g in reachable_graphs(graph)]
    return all(_may_move(n) for g in inside for n in ordered(g) if isinstance(n, Apply))


RULES = (no_passes, carry_that_stays, computed_once)
