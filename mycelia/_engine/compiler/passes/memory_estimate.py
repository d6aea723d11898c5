"""How much memory the values of a graph take, as far as the graph itself tells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from mycelia._engine.core.shape import size
from mycelia._engine.ir.control_flow import TUPLE, Item, primitive_of
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.operator import Op

Readers = dict[GraphNode, list[Apply]]


def readers_of(nodes: Iterable[Apply]) -> Readers:
    """For each node, those of `nodes` that use it."""
    found: Readers = defaultdict(list)
    for node in nodes:
        for used in dict.fromkeys(node.args):
            found[used].append(node)
    return found


def written_bytes(node: Apply, readers: Readers) -> int:
    """What a node writes: nothing for parts of tuples, or if it is a part of its reader's loop."""
    op = primitive_of(node)
    if op is TUPLE or type(op) is Item:
        return 0
    whole = type_bytes(node.type)
    if not isinstance(op, Op) or not (op.elementwise or op.ends_elementwise):
        return whole
    value = _first(node, readers)
    found = [primitive_of(r) for r in readers[value]]
    is_part = len(found) == 1 and isinstance(found[0], Op) and found[0].elementwise
    return whole - type_bytes(value.type) if is_part else whole


def _first(node: Apply, readers: Readers) -> Apply:
    """What readers take of a tuple first, and of its first part if that is a tuple."""
    while isinstance(node.type, tuple):
        firsts = [r for r in readers[node] if primitive_of(r) == Item(0)]
        if not firsts:
            break
        node = firsts[0]
    return node


def type_bytes(type_: Any) -> int:
    """The bytes of a tensor, or of all tensors of a tuple."""
    if isinstance(type_, tuple):
        return sum(map(type_bytes, type_))
    if not isinstance(type_, TensorType):
        return 0
    return size(type_.shape) * type_.dtype.numpy.itemsize
