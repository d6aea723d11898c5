"""Rules for tuples: items of tuples, and tuples of items."""

from __future__ import annotations

from mycelia._engine.compiler.passes.patterns import arguments_of
from mycelia._engine.ir.control_flow import TUPLE, Item, Tuple, primitive_of
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.rewrite import on


@on(Item)
def item_of_tuple(node: Apply) -> GraphNode | None:
    """item[i](tuple(x0, x1, ...)) = xi"""
    (whole,) = node.args
    if primitive_of(whole) is TUPLE:
        return arguments_of(whole)[primitive_of(node).index]
    return None


@on(Tuple)
def tuple_of_items(node: Apply) -> GraphNode | None:
    """tuple(item[0](t), ..., item[n-1](t)) = t, if t has n values"""
    if not node.args or not all(type(primitive_of(a)) is Item for a in node.args):
        return None
    wholes = [arguments_of(a)[0] for a in node.args]
    indices = [primitive_of(a).index for a in node.args]
    whole = wholes[0]
    if any(w is not whole for w in wholes) or indices != list(range(len(whole.type))):
        return None
    return whole


RULES = (item_of_tuple, tuple_of_items)
