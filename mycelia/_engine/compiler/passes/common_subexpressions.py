"""Common subexpression elimination."""

from __future__ import annotations

from typing import Any

from mycelia._engine.ir.analysis import constant_key, ordered, reachable_graphs, same_graphs
from mycelia._engine.ir.control_flow import (
    Call,
    Custom,
    Effect,
    Item,
    Switch,
    Tuple,
    While,
    primitive_of,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.rewrite import rewrite
from mycelia._engine.operators.operator import Op

_MERGED = (Op, Item, Tuple, Switch, While, Call)


def merge_duplicates(root: Graph) -> int:
    """f(x) and f(x) = one f(x); returns the number of nodes that were removed.

    Random operators receive their key as an argument, so they are merged only if it is the same.
    Effects, and operators that users wrote, are never merged.
    """
    return rewrite(root, [_SeenApplications().same])


class _SeenApplications:
    """The applications seen so far, by primitive and arguments."""

    def __init__(self) -> None:
        self._nodes: dict[Any, list[Apply]] = {}
        self._keys: dict[GraphConstant, Any] = {}
        self._pure: dict[Graph, bool] = {}

    def same(self, node: Apply) -> GraphNode | None:
        """An earlier application of the same primitive to the same arguments."""
        op = primitive_of(node)
        if not isinstance(op, _MERGED):
            return None
        try:
            candidates = self._nodes.setdefault(self._key(op, node), [])
        except TypeError:  # a static value without a hash
            return None
        for other in candidates:
            if self._same_graphs(node, other):
                return other
        candidates.append(node)
        return None

    def _key(self, op: Any, node: Apply) -> Any:
        head = op.index if type(op) is Item else op
        args = [self._constant(a) if type(a) is GraphConstant else a for a in node.args]
        return (node.graph, head, *args)

    def _constant(self, node: GraphConstant) -> Any:
        key = self._keys.get(node)
        if key is None:
            key = Graph if isinstance(node.value, Graph) else constant_key(node)
            self._keys[node] = key
        return key

    def _same_graphs(self, node: Apply, other: Apply) -> bool:
        for mine, theirs in zip(node.args, other.args, strict=True):
            if type(mine) is not GraphConstant or not isinstance(mine.value, Graph):
                continue
            assert type(theirs) is GraphConstant
            if not self._is_pure(mine.value) or not same_graphs(mine.value, theirs.value):
                return False
        return True

    def _is_pure(self, graph: Graph) -> bool:
        is_pure = self._pure.get(graph)
        if is_pure is None:
            inside = [n for g in reachable_graphs(graph) for n in ordered(g)]
            is_pure = not any(isinstance(primitive_of(n), (Effect, Custom)) for n in inside)
            self._pure[graph] = is_pure
        return is_pure
