"""Accumulating cotangents: one value per node, the sum of the gradients from its users."""

from __future__ import annotations

from typing import Any

from mycelia._engine.ir.node import GraphConstant, GraphNode
from mycelia.ops.elementwise.arithmetic import add


class Cotangents:
    """The cotangent of each node so far: None, a tensor, or a tuple of those."""

    def __init__(self) -> None:
        self._values: dict[GraphNode, Any] = {}

    def __contains__(self, node: GraphNode) -> bool:
        return node in self._values

    def get(self, node: GraphNode) -> Any:
        return self._values.get(node)

    def add(self, node: GraphNode, grad: Any) -> None:
        """Add to the cotangent of a node; constants have none."""
        if isinstance(node, GraphConstant) or _is_empty(grad):
            return
        grad = _matching(node.type, grad)
        if _is_empty(grad):
            return
        before = self._values.get(node)
        self._values[node] = grad if before is None else _sum(before, grad)


def is_inexact(type_: Any) -> bool:
    """Whether a type is floating point or complex."""
    if isinstance(type_, tuple):
        return any(map(is_inexact, type_))
    return type_ is not None and type_.dtype.is_inexact


def _matching(type_: Any, grad: Any) -> Any:
    if isinstance(type_, tuple):
        parts = grad if isinstance(grad, (tuple, list)) else (None,) * len(type_)
        return tuple([_matching(t, g) for t, g in zip(type_, parts, strict=True)])
    return None if type_ is None else grad


def _is_empty(grad: Any) -> bool:
    return all(map(_is_empty, grad)) if isinstance(grad, (tuple, list)) else grad is None


def _sum(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, tuple):
        return tuple([_sum(a, b) for a, b in zip(first, second, strict=True)])
    return add(first, second)
