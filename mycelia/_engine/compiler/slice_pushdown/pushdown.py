"""Slice pushdown: compute only what is read.

A text classifier reads the first token of its last layer. The parts of that layer that process
tokens independently only need to process that token, and so do their gradients. The pass follows
such windows from where they are read to where the whole tensor is needed, through operators whose
positions along the axis are independent, and slices there. It runs before differentiation, and at
the end of tracing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.compiler.slice_pushdown.slicing_operators import SlicingNode
from mycelia._engine.compiler.slice_pushdown.window import AxisWindow
from mycelia._engine.core.lazy_import import LazyModule
from mycelia._engine.core.settings import selects_kernels
from mycelia._engine.ir.analysis import applications
from mycelia._engine.ir.control_flow import Item, primitive_of
from mycelia._engine.ir.node import Apply, GraphNode

if TYPE_CHECKING:
    from mycelia._engine.compiler.slice_pushdown import operator_windows
else:  # not needed by programs without slices
    operator_windows = LazyModule("mycelia._engine.compiler.slice_pushdown.operator_windows")

MIN_SAVINGS = 1 << 16  # operations; smaller savings are not worth another graph


def push_down_slices(tracer: Tracer, outputs: Sequence[Any], kept: Iterable[Any] = ()) -> list[Any]:
    """`outputs`, computed only for the windows that are read; `kept` must not be narrowed."""
    builder = tracer.root
    if tracer.builder is not builder or tracer.materialized is not None:
        return list(outputs)
    roots = [node for node in (*outputs, *kept) if isinstance(node, GraphNode)]
    nodes = applications(roots)
    slicings = {node: slicing for node in nodes if (slicing := SlicingNode.of(node)) is not None}
    plan = _PushdownPlan(nodes, slicings, roots) if slicings else None
    if plan is not None and plan.spared >= MIN_SAVINGS:
        is_wanted = selects_kernels()
        tracer.guards.fact(selects_kernels, (), is_wanted)
        if is_wanted:
            plan.write(builder)
            tracer.narrowed += plan.count
    return builder.substituted(list(outputs))


class _PushdownPlan:
    """The operators that are computed for a window only, found from the results backwards."""

    def __init__(
        self, nodes: list[Apply], slicings: dict[Apply, SlicingNode], roots: Sequence[GraphNode]
    ) -> None:
        self.spared = 0.0
        self._nodes, self._slicings = nodes, slicings
        self._whole: set[GraphNode] = set(roots)
        self._wanted: dict[GraphNode, operator_windows.Wanted] = {}
        self._steps: dict[Apply, operator_windows.WindowedOperator] = {}
        for node in reversed(nodes):
            self._visit(node)

    @property
    def count(self) -> int:
        """The number of operators that are computed for a window."""
        return len(self._steps)

    def write(self, builder: GraphBuilder) -> None:
        """Add the windowed operators to the graph; slicing nodes read from them."""
        parts: dict[GraphNode, GraphNode] = {}
        cuts: dict[tuple[GraphNode, AxisWindow], GraphNode] = {}

        def part(node: GraphNode, window: AxisWindow) -> GraphNode:
            if node in parts:
                return parts[node]
            if (node, window) not in cuts:
                cuts[node, window] = window.cut(builder, node)
            return cuts[node, window]

        for node in self._nodes:
            step, op = self._steps.get(node), primitive_of(node)
            if step is not None:
                windows = step.windows
                args = [part(a, windows[i]) if i in windows else a for i, a in enumerate(node.args)]
                parts[node] = step.write(builder, args)
            elif type(op) is Item and node.args[0] in parts:
                parts[node] = builder.item(parts[node.args[0]], op.index)
            elif node in self._slicings and node.args[0] in parts:
                slicing = self._slicings[node]
                builder.replaced[node] = slicing.from_window(builder, parts[node.args[0]])

    def _visit(self, node: Apply) -> None:
        """Record what a node needs of its arguments, after all users of the node."""
        if node in self._slicings:
            self._want(node.args[0], 0, self._slicings[node].window)
            return
        wanted = {} if node in self._whole else self._wanted.get(node, {})
        op = primitive_of(node)
        if wanted and type(op) is Item:
            self._want(node.args[0], op.index, wanted[0])
            return
        step = operator_windows.windowed_operator_for(node, wanted) if wanted else None
        if step is None:
            self._whole.update(node.args)
            return
        self._steps[node] = step
        self.spared += step.spared
        for index, arg in enumerate(node.args):
            if index in step.windows:
                self._want(arg, 0, step.windows[index])
            else:
                self._whole.add(arg)

    def _want(self, node: GraphNode, number: int, window: AxisWindow) -> None:
        """Record that `window` of a result is needed; two different windows mean the whole."""
        if self._wanted.setdefault(node, {}).setdefault(number, window) != window:
            self._whole.add(node)
