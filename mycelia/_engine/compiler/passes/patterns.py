"""Building blocks for rewrite rules: predicates on nodes, and replacement nodes."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign
from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.graph_builder import constant
from mycelia._engine.ir.analysis import SMALL, same_constants
from mycelia._engine.ir.control_flow import TUPLE, Call, Item, Switch, While, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.types import TensorType


def array_of(node: GraphNode) -> np.ndarray | None:
    """The array of a small constant on the host, else None."""
    if type(node) is not GraphConstant or node.type is None:
        return None
    value = node.value
    if isinstance(value, np.ndarray | np.generic) and value.size <= SMALL:
        return np.asarray(value)
    return None


def is_all(node: GraphNode, number: float) -> bool:
    """Whether `node` is a small real constant that equals `number` everywhere; -0.0 is not 0."""
    value = array_of(node)
    if value is None or not value.size or value.dtype.kind == "c":
        return False
    if value.size == 1:
        element = value.item()
        return element == number and (number != 0 or copysign(1, element) > 0)
    if not np.all(value == number):
        return False
    return number != 0 or not np.any(np.signbit(value.astype(np.float64)))


def is_of(node: GraphNode, *heads: type) -> bool:
    """Whether `node` applies one of these primitives, without attributes attached by users."""
    op: Any = primitive_of(node)
    return isinstance(op, heads) and not op.marks  # type: ignore[attr-defined]


def is_control(node: GraphNode) -> bool:
    """Whether `node` is a branch, a loop, or a call."""
    return isinstance(primitive_of(node), (Switch, While, Call))


def is_tensor(node: GraphNode) -> bool:
    """Whether `node` is one tensor."""
    return isinstance(node.type, TensorType)


def kind_of(node: GraphNode) -> str:
    """The kind of the elements of a tensor: bool, int, uint, float, complex."""
    return node.type.dtype.kind


def arguments_of(node: GraphNode) -> tuple[GraphNode, ...]:
    """The arguments of an application."""
    assert isinstance(node, Apply)
    return node.args


def replacement(node: Apply, op: Any, args: Sequence[Any], type_: Any = None) -> Apply:
    """An application of `op` that replaces `node`, with the same type unless one is passed."""
    nodes = tuple([a if isinstance(a, GraphNode) else constant(a) for a in args])
    type_ = node.type if type_ is None else type_
    return Apply(constant(op), nodes, node.graph, span=node.span, type=type_)


def replacement_items(node: Apply, whole: GraphNode, count: int) -> list[GraphNode]:
    """The first `count` values of `whole`, a node that replaces `node`."""
    return [replacement(node, Item(i), (whole,), whole.type[i]) for i in range(count)]


def results_of(graph: Graph) -> tuple[GraphNode, ...] | None:
    """The values that a graph returns, or None if its output is not a tuple built there."""
    return arguments_of(graph.output) if primitive_of(graph.output) is TUPLE else None


def same_value(first: GraphNode, second: GraphNode) -> bool:
    """Whether two nodes are the same node or equal constants."""
    if first is second:
        return True
    if type(first) is not GraphConstant or type(second) is not GraphConstant:
        return False
    return same_constants(first, second)
