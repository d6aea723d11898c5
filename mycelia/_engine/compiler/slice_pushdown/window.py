"""Windows: ranges of positions along one axis of a tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.node import GraphConstant, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia.ops.indexing.subscript import FULL, Subscript
from mycelia.ops.shapes.reshape import Reshape


@dataclass(frozen=True)
class AxisWindow:
    """A range of positions along an axis, which is seen as three axes: (before, size, after).

    The window contains the positions from `start` to `stop` of the middle one. This form can be
    followed through a reshape that merges the axis with its neighbors.
    """

    axis: int
    size: int
    start: int
    stop: int
    before: int = 1
    after: int = 1

    @property
    def share(self) -> float:
        """The fraction of the axis that is in the window."""
        return (self.stop - self.start) / self.size

    def at(self, axis: int) -> AxisWindow:
        """The same positions along another axis of the same size."""
        return replace(self, axis=axis)

    def shape(self, whole: Shape) -> Shape:
        """The shape of the window of a tensor of shape `whole`."""
        length = self.before * (self.stop - self.start) * self.after
        return (*whole[: self.axis], length, *whole[self.axis + 1 :])

    def type(self, whole: TensorType) -> TensorType:
        """The type of the window of a tensor of type `whole`."""
        return whole.with_shape(self.shape(whole.shape))

    def before_reshape(self, given: Shape, made: Shape) -> AxisWindow | None:
        """The window before a reshape from `given` to `made` that becomes this one."""
        before = prod(made[: self.axis]) * self.before
        after = self.after * prod(made[self.axis + 1 :])
        for axis, size in enumerate(given):
            left, right = prod(given[:axis]), prod(given[axis + 1 :])
            if left and right and before % left == after % right == 0:
                window = replace(self, axis=axis, before=before // left, after=after // right)
                if window.before * window.size * window.after == size:
                    return window
        return None

    def cut(self, builder: GraphBuilder, whole: GraphNode) -> GraphNode:
        """The content of the window, as a node."""
        if self.before == self.after == 1:
            return self._middle(builder, whole, self.axis)
        shape = whole.type.shape
        factors = (self.before, self.size, self.after)
        split = (*shape[: self.axis], *factors, *shape[self.axis + 1 :])
        middle = self._middle(builder, reshaped(builder, whole, split), self.axis + 1)
        return reshaped(builder, middle, self.shape(shape))

    def _middle(self, builder: GraphBuilder, whole: GraphNode, axis: int) -> GraphNode:
        count, shape = self.stop - self.start, whole.type.shape
        op = Subscript.of((*[FULL] * axis, ("window", count)))
        type_ = whole.type.with_shape((*shape[:axis], count, *shape[axis + 1 :]))
        return builder.apply(op, (whole, np.asarray(self.start)), type_, whole.span)


def reshaped(builder: GraphBuilder, node: GraphNode, shape: Shape) -> GraphNode:
    """`node` reshaped."""
    type_ = node.type.with_shape(shape)
    return builder.apply(Reshape.of(), (node, GraphConstant(shape)), type_, node.span)
