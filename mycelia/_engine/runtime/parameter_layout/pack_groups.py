"""Groups of graph parameters that are packed into one input, and the nodes that unpack them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia._engine.core.shape import Shape, size
from mycelia._engine.ir.control_flow import TUPLE, Item, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia._engine.runtime.parameter_layout.packs import (
    ConcatenatedPack,
    ParameterPack,
    StackedPack,
    TransposedPack,
    pack_of,
)
from mycelia.ops.optimizer.support import Update
from mycelia.ops.shapes.concat import Concat, SplitV, Stack, Unstack
from mycelia.ops.shapes.reshape import Reshape, Transpose


class PackGroup:
    """Graph parameters that are packed into one."""

    def __init__(self, members: tuple[Any, ...]) -> None:
        self.members = members  # parameters of the graph
        self.parameter: Any = None  # the packed parameter
        self.written: Any = None  # its new array

    @property
    def type(self) -> TensorType:
        """The type of the packed parameter."""
        raise NotImplementedError

    def like(self, members: tuple[Any, ...]) -> PackGroup:
        """A group of the same kind for equally shaped parameters: optimizer states."""
        raise NotImplementedError

    def allows(self, update: Update, places: list[int]) -> bool:
        """Whether one update of the pack is equivalent to updates of its members."""
        raise NotImplementedError

    def apart(self, graph: Graph) -> list[GraphNode]:
        """Unpack: the members as nodes of `graph`, computed from the packed parameter."""
        raise NotImplementedError

    def joined(self, graph: Graph, nodes: Sequence[GraphNode]) -> GraphNode:
        """Pack other nodes that have the types of the members."""
        raise NotImplementedError

    def whole(self, nodes: Sequence[GraphNode]) -> GraphNode | None:
        """The node that these nodes were unpacked from, or None."""
        return None

    def pack(self, values: Sequence[Any]) -> ParameterPack:
        """The pack that holds the members between two runs."""
        raise NotImplementedError


class StackGroup(PackGroup):
    """Parameters that a program uses as a stack, along a new first axis."""

    @property
    def type(self) -> TensorType:
        first = self.members[0].type
        return first.with_shape((len(self.members), *first.shape))

    def like(self, members: tuple[Any, ...]) -> PackGroup:
        return StackGroup(members)

    def allows(self, update: Update, places: list[int]) -> bool:
        return _is_by_number(update, places)

    def apart(self, graph: Graph) -> list[GraphNode]:
        type_ = self.members[0].type
        slices = graph.apply(Unstack.of(0), self.parameter, type=(type_,) * len(self.members))
        return [graph.apply(Item(i), slices, type=type_) for i in range(len(self.members))]

    def joined(self, graph: Graph, nodes: Sequence[GraphNode]) -> GraphNode:
        row = graph.apply(TUPLE, *nodes, type=tuple([n.type for n in nodes]))
        return graph.apply(Stack.of(0), row, type=self.type)

    def whole(self, nodes: Sequence[GraphNode]) -> GraphNode | None:
        first = nodes[0]
        if type(primitive_of(first)) is not Item or isinstance(first, GraphConstant):
            return None
        assert isinstance(first, Apply)
        whole = first.args[0]
        op = primitive_of(whole)
        if not isinstance(op, Unstack) or op.axis != 0 or len(whole.type) != len(nodes):
            return None
        same = all(path_between(whole, node) == [i] for i, node in enumerate(nodes))
        assert isinstance(whole, Apply)
        return whole.args[0] if same else None

    def pack(self, values: Sequence[Any]) -> ParameterPack:
        return pack_of(StackedPack, values)


class ConcatenatedGroup(PackGroup):
    """Small parameters, flattened and concatenated."""

    @property
    def type(self) -> TensorType:
        return self.members[0].type.with_shape((sum(self._sizes),))

    @property
    def _sizes(self) -> Shape:
        return tuple([size(member.type.shape) for member in self.members])

    def like(self, members: tuple[Any, ...]) -> PackGroup:
        return ConcatenatedGroup(members)

    def allows(self, update: Update, places: list[int]) -> bool:
        return _is_by_number(update, places)

    def apart(self, graph: Graph) -> list[GraphNode]:
        rows = tuple([self.type.with_shape((count,)) for count in self._sizes])
        split = SplitV.of(self._sizes, 0, len(rows))
        parts = graph.apply(split, self.parameter, type=rows)
        items = [graph.apply(Item(i), parts, type=row) for i, row in enumerate(rows)]
        return [_reshaped(graph, i, m.type) for i, m in zip(items, self.members, strict=True)]

    def joined(self, graph: Graph, nodes: Sequence[GraphNode]) -> GraphNode:
        rows = [_reshaped(graph, n, n.type.with_shape((size(n.type.shape),))) for n in nodes]
        row = graph.apply(TUPLE, *rows, type=tuple([r.type for r in rows]))
        return graph.apply(Concat.of(0), row, type=self.type)

    def pack(self, values: Sequence[Any]) -> ParameterPack:
        return pack_of(ConcatenatedPack, values)


class TransposedGroup(PackGroup):
    """One parameter that a program needs with permuted axes."""

    def __init__(self, members: tuple[Any, ...], order: Shape) -> None:
        super().__init__(members)
        self._order = order

    @property
    def type(self) -> TensorType:
        first = self.members[0].type
        return first.with_shape(tuple([first.shape[axis] for axis in self._order]))

    def like(self, members: tuple[Any, ...]) -> PackGroup:
        return TransposedGroup(members, self._order)

    def allows(self, update: Update, places: list[int]) -> bool:
        return not any(_at(update.centralize, places))

    def apart(self, graph: Graph) -> list[GraphNode]:
        back = GraphConstant(tuple(np.argsort(self._order).tolist()))
        return [graph.apply(Transpose.of(), self.parameter, back, type=self.members[0].type)]

    def joined(self, graph: Graph, nodes: Sequence[GraphNode]) -> GraphNode:
        return graph.apply(Transpose.of(), nodes[0], GraphConstant(self._order), type=self.type)

    def pack(self, values: Sequence[Any]) -> ParameterPack:
        return pack_of(TransposedPack, values, self._order)


def path_between(root: GraphNode | None, node: GraphNode) -> list[int] | None:
    """The item indices that lead from `root` to a node, or None."""
    found: list[int] = []
    while node is not root:
        op = primitive_of(node)
        if type(op) is not Item or not isinstance(node, Apply):
            return None
        found.insert(0, op.index)
        node = node.args[0]
    return found


def _is_by_number(update: Update, places: list[int]) -> bool:
    """Whether an update is element-wise in these parameters, regardless of their shapes."""
    if update.by_norm or len(set(_at(update.weight_decay, places))) > 1:
        return False
    return not any(_at(update.centralize, places))


def _reshaped(graph: Graph, node: GraphNode, type_: TensorType) -> GraphNode:
    return graph.apply(Reshape.of(), node, GraphConstant(type_.shape), type=type_)


def _at(values: Sequence[Any], places: list[int]) -> list[Any]:
    """The entries at some indices; a field that was not set has none."""
    return [values[i] for i in places] if values else []
