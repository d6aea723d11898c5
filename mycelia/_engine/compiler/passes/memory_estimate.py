"""An estimate of the memory that the values of a graph use."""

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
    readers: Readers = defaultdict(list)
    for node in nodes:
        for used in dict.fromkeys(node.args):
            readers[used].append(node)
    return readers


def written_bytes(node: Apply, readers: Readers) -> int:
    """The bytes that a node writes; 0 for items of tuples, less if it is fused with its reader."""
    op = primitive_of(node)
    if op is TUPLE or type(op) is Item:
        return 0
    whole = type_bytes(node.type)
    if not isinstance(op, Op) or not (op.elementwise or op.ends_elementwise):
        return whole
    value = _first(node, readers)
    reading_ops = [primitive_of(r) for r in readers[value]]
    is_fused = (
        len(reading_ops) == 1 and isinstance(reading_ops[0], Op) and reading_ops[0].elementwise
    )
    return whole - type_bytes(value.type) if is_fused else whole


def _first(node: Apply, readers: Readers) -> Apply:
    """The first element of a tuple, recursively, if a reader uses it."""
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
