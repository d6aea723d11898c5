"""Slicing operators, and how they read from a window that contains their slice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.passes.patterns import is_of
from mycelia._engine.compiler.slice_pushdown.window import AxisWindow, reshaped
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia.ops.indexing.slice import Slice, StridedBox, StridedSlice
from mycelia.ops.indexing.subscript import Subscript

MAX_WINDOW_SHARE = 0.5  # of an axis: larger windows do not save enough work
_READERS = (Subscript, StridedSlice, Slice, StridedBox)


@dataclass(frozen=True)
class SlicingNode:
    """A node that reads `box`, a slice of each axis; all its elements lie in `window`."""

    node: Apply
    box: tuple[slice, ...]
    window: AxisWindow

    @classmethod
    def of(cls, node: Apply) -> SlicingNode | None:
        """How `node` slices its argument, if the slice is small and known at compile time."""
        if not is_of(node, *_READERS) or not isinstance(node.args[0], Apply):
            return None
        rest = [arg.value for arg in node.args[1:] if isinstance(arg, GraphConstant)]
        if len(rest) < len(node.args) - 1:
            return None
        op: Any = primitive_of(node)
        shape = node.args[0].type.shape
        box = op.box(shape, *rest)
        windows = [
            AxisWindow(axis, size, part.start, part.stop)
            for axis, (part, size) in enumerate(zip(box or (), shape, strict=False))
            if part.step in (None, 1) and 0 < part.stop - part.start <= MAX_WINDOW_SHARE * size
        ]
        return cls(node, box, min(windows, key=lambda w: w.share)) if windows else None

    def from_window(self, builder: GraphBuilder, part: GraphNode) -> GraphNode:
        """The result of the node, from `part`, the content of the window."""
        box, axis, sizes = list(self.box), self.window.axis, part.type.shape
        box[axis] = slice(0, sizes[axis])
        ranges = [range(*b.indices(n)) for b, n in zip(box, sizes, strict=True)]
        type_ = self.node.type
        if all(r == range(n) for r, n in zip(ranges, sizes, strict=True)):
            return reshaped(builder, part, type_.shape)
        starts, steps, counts = zip(*[(r.start, r.step, len(r)) for r in ranges], strict=True)
        op = StridedBox.of(starts, steps, counts, type_.shape)
        return builder.apply(op, (part,), type_, self.node.span)
