"""Rules for booleans: not, and, or, comparisons with booleans, and selects."""

from __future__ import annotations

from mycelia._engine.compiler.passes.patterns import (
    arguments_of,
    is_all,
    is_of,
    kind_of,
    replacement,
)
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.rewrite import on
from mycelia.ops.elementwise.comparison import Equal, LogicalAnd, LogicalNot, LogicalOr, NotEqual
from mycelia.ops.elementwise.where import Select
from mycelia.ops.shapes.reshape import Cast

_OPPOSITE: dict[type, Primitive] = {Equal: NotEqual.of(), NotEqual: Equal.of()}


@on(LogicalNot)
def not_not(node: Apply) -> GraphNode | None:
    """not not p = p"""
    (p,) = node.args
    if is_of(p, LogicalNot) and arguments_of(p)[0].type == node.type:
        return arguments_of(p)[0]
    return None


@on(LogicalNot)
def not_equal(node: Apply) -> GraphNode | None:
    """not (x == y) = (x != y), and not (x != y) = (x == y)"""
    (p,) = node.args
    if not is_of(p, Equal, NotEqual):
        return None
    opposite = next(op for head, op in _OPPOSITE.items() if is_of(p, head))
    return replacement(node, opposite, arguments_of(p))


@on(LogicalAnd)
def and_known(node: Apply) -> GraphNode | None:
    """p and True = p; p and False = False; p and p = p; in either order"""
    return _joined(node, neutral=True)


@on(LogicalOr)
def or_known(node: Apply) -> GraphNode | None:
    """p or False = p; p or True = True; p or p = p; in either order"""
    return _joined(node, neutral=False)


@on(Equal, NotEqual)
def compared_with_truth(node: Apply) -> GraphNode | None:
    """(p == True) = (p != False) = p, and (p == False) = (p != True) = not p; p may be cast"""
    for p, number in (node.args, node.args[::-1]):
        if is_of(p, Cast):
            p = arguments_of(p)[0]
        if kind_of(p) != "bool" or p.type != node.type:
            continue
        for value in (True, False):
            if is_all(number, value):
                keeps = is_of(node, Equal) is value
                return p if keeps else replacement(node, LogicalNot.of(), (p,))
    return None


@on(Select)
def select_known(node: Apply) -> GraphNode | None:
    """select(True, x, y) = x, and select(False, x, y) = y"""
    condition, x, y = node.args
    if is_all(condition, 1) and x.type == node.type:
        return x
    return y if is_all(condition, 0) and y.type == node.type else None


@on(Select)
def select_same(node: Apply) -> GraphNode | None:
    """select(p, x, x) = x"""
    _, x, y = node.args
    return x if x is y and x.type == node.type else None


@on(Select)
def select_not(node: Apply) -> GraphNode | None:
    """select(not p, x, y) = select(p, y, x)"""
    condition, x, y = node.args
    if is_of(condition, LogicalNot) and kind_of(arguments_of(condition)[0]) == "bool":
        return replacement(node, Select.of(), (arguments_of(condition)[0], y, x))
    return None


@on(Select)
def select_truth(node: Apply) -> GraphNode | None:
    """select(p, True, False) = p, and select(p, False, True) = not p"""
    p, x, y = node.args
    if kind_of(node) != "bool" or p.type != node.type:
        return None
    if is_all(x, 1) and is_all(y, 0):
        return p
    return replacement(node, LogicalNot.of(), (p,)) if is_all(x, 0) and is_all(y, 1) else None


@on(Select)
def select_again(node: Apply) -> GraphNode | None:
    """select(p, select(p, x, y), z) = select(p, x, z), and likewise on the other side"""
    p, x, y = node.args
    for position, side in ((1, x), (2, y)):
        if is_of(side, Select) and arguments_of(side)[0] is p and side.type == node.type:
            chosen = arguments_of(side)[position]
            return replacement(
                node, Select.of(), (p, chosen, y) if position == 1 else (p, x, chosen)
            )
    return None


def _joined(node: Apply, *, neutral: bool) -> GraphNode | None:
    p, q = node.args
    if kind_of(p) != "bool":
        return None
    for known, other in ((p, q), (q, p)):
        if is_all(known, neutral) and other.type == node.type:
            return other
        if is_all(known, not neutral) and known.type == node.type:
            return known
    return p if p is q else None


RULES = (
    not_not,
    not_equal,
    and_known,
    or_known,
    compared_with_truth,
    select_known,
    select_same,
    select_not,
    select_truth,
    select_again,
)
