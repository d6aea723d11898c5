"""Rules for branches: simpler conditions, equal results, selects instead of cheap branches."""

from __future__ import annotations

from mycelia._engine.compiler.passes.patterns import (
    arguments_of,
    is_of,
    is_tensor,
    kind_of,
    replacement,
    results_of,
    same_value,
)
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.control_flow import (
    SWITCH,
    Item,
    Switch,
    graphs_of,
    operands_of,
    primitive_of,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.rewrite import on
from mycelia._engine.operators.families import Compare
from mycelia.ops.elementwise.arithmetic import (
    Abs,
    Add,
    Div,
    Maximum,
    Minimum,
    Mul,
    Neg,
    Square,
    Sub,
)
from mycelia.ops.elementwise.comparison import LogicalNot
from mycelia.ops.elementwise.where import Select
from mycelia.ops.shapes.reshape import Cast, ExpandDims, Reshape, Squeeze

# Operators that cost less than a branch on few elements, and that no value can make fail.
CHEAP = (
    Abs, Add, Cast, Compare, Div, ExpandDims, LogicalNot, Maximum, Minimum, Mul, Neg, Reshape,
    Select, Square, Squeeze, Sub,
)  # fmt: skip
_FEW_ELEMENTS = 64
_FEW_NODES = 8


@on(Switch)
def switch_not(node: Apply) -> GraphNode | None:
    """switch(not p, @f, @g, *x) = switch(p, @g, @f, *x)"""
    condition, first, second, *rest = node.args
    if not is_of(condition, LogicalNot) or kind_of(arguments_of(condition)[0]) != "bool":
        return None
    return replacement(node, SWITCH, (arguments_of(condition)[0], second, first, *rest))


@on(Switch)
def switch_cast(node: Apply) -> GraphNode | None:
    """switch(cast(p, int32), @f, @g, *x) = switch(p, @f, @g, *x), for a bool p"""
    index, *rest = node.args
    if not is_of(index, Cast) or len(graphs_of(node)) != 2:
        return None
    p = arguments_of(index)[0]
    return replacement(node, SWITCH, (p, *rest)) if kind_of(p) == "bool" else None


@on(Item)
def item_all_agree_on(node: Apply) -> GraphNode | None:
    """item[i](switch(p, @f, @g, *x)) = x0, if f and g both return their first parameter there

    The same holds if all branches return equal constants.
    """
    sides = _sides(node)
    if sides is None:
        return None
    switch = node.args[0]
    assert isinstance(switch, Apply)
    operands = operands_of(switch)
    outside = []
    for graph, result in sides:
        if isinstance(result, Apply):
            return None
        is_constant = isinstance(result, GraphConstant)
        outside.append(result if is_constant else operands[graph.parameters.index(result)])
    first = outside[0]
    agree = first.type == node.type and all(same_value(first, other) for other in outside[1:])
    return first if agree else None


@on(Item)
def item_twice(node: Apply) -> GraphNode | None:
    """item[j](switch(...)) = item[i](switch(...)), if all branches return one value at i and j"""
    sides = _sides(node)
    if sides is None:
        return None
    indices = {arguments_of(graph.output).index(result) for graph, result in sides}
    if len(indices) != 1 or indices == {primitive_of(node).index}:
        return None
    return replacement(node, Item(indices.pop()), node.args)


@on(Item)
def item_by_select(node: Apply) -> GraphNode | None:
    """item[i](switch(p, @f, @g, *x)) = select(p, g(x)[i], f(x)[i]), if both are cheap"""
    sides = _sides(node)
    if sides is None or len(sides) != 2 or not is_tensor(node):
        return None
    switch = node.args[0]
    assert isinstance(switch, Apply)
    p, operands = switch.args[0], operands_of(switch)
    if kind_of(p) != "bool" or p.type.shape or not all(_is_cheap(r) for _, r in sides):
        return None
    if any(result.type != node.type for _, result in sides):
        return None
    no, yes = (
        copy_nodes([result], node.graph, dict(zip(graph.parameters, operands, strict=True)))[0]
        for graph, result in sides
    )
    return replacement(node, Select.of(), (p, yes, no))


def _sides(node: Apply) -> list[tuple[Graph, GraphNode]] | None:
    """The branches of the switch that `node` is an item of, each with its result there."""
    switch = node.args[0]
    if primitive_of(switch) is not SWITCH:
        return None
    assert isinstance(switch, Apply)
    sides = []
    for graph in graphs_of(switch):
        results = results_of(graph)
        if results is None:
            return None
        sides.append((graph, results[primitive_of(node).index]))
    return sides


def _is_cheap(result: GraphNode) -> bool:
    """Whether `result` is computed by few cheap operators on few elements."""
    waiting, seen = [result], set()
    while waiting:
        node = waiting.pop()
        if node in seen or (isinstance(node, GraphConstant) and node.type is None):
            continue
        seen.add(node)
        if len(seen) > _FEW_NODES or not is_tensor(node) or node.size > _FEW_ELEMENTS:
            return False
        if isinstance(node, Apply):
            if not is_of(node, *CHEAP):
                return False
            waiting += node.args
    return True


RULES = (switch_not, switch_cast, item_all_agree_on, item_twice, item_by_select)
