"""Only what is read is computed.

A classifier of texts reads the first word of its last layer. What that layer does word by word,
it has to do for that word alone, and so have its gradients. The pass follows such windows from
where they are read to where all of a tensor is needed, through operators whose positions along
the axis have nothing to do with each other, and cuts them out there. It runs before gradients are
taken, and at the end of reading.
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
else:  # what programs that read everything do without
    operator_windows = LazyModule("mycelia._engine.compiler.slice_pushdown.operator_windows")

MIN_SAVINGS = 1 << 16  # operations; fewer are not worth another graph


def push_down_slices(tracer: Tracer, outputs: Sequence[Any], kept: Iterable[Any] = ()) -> list[Any]:
    """`outputs`, computed for windows where only those are read; `kept` is needed as it is."""
    builder = tracer.root
    if tracer.builder is not builder or tracer.materialized is not None:
        return list(outputs)
    roots = [node for node in (*outputs, *kept) if isinstance(node, GraphNode)]
    nodes = applications(roots)
    readings = {node: found for node in nodes if (found := SlicingNode.of(node)) is not None}
    plan = _PushdownPlan(nodes, readings, roots) if readings else None
    if plan is not None and plan.spared >= MIN_SAVINGS:
        is_wanted = selects_kernels()
        tracer.guards.fact(selects_kernels, (), is_wanted)
        if is_wanted:
            plan.write(builder)
            tracer.narrowed += plan.count
    return builder.substituted(list(outputs))


class _PushdownPlan:
    """Which operators are computed for a window only, found from the results down."""

    def __init__(
        self, nodes: list[Apply], readings: dict[Apply, SlicingNode], roots: Sequence[GraphNode]
    ) -> None:
        self.spared = 0.0
        self._nodes, self._readings = nodes, readings
        self._whole: set[GraphNode] = set(roots)
        self._wanted: dict[GraphNode, operator_windows.Wanted] = {}
        self._steps: dict[Apply, operator_windows.WindowedOperator] = {}
        for node in reversed(nodes):
            self._visit(node)

    @property
    def count(self) -> int:
        """How many operators are computed for a window."""
        return len(self._steps)

    def write(self, builder: GraphBuilder) -> None:
        """Add the operators for windows to the graph; readings read from them."""
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
                given = step.windows
                args = [part(a, given[i]) if i in given else a for i, a in enumerate(node.args)]
                parts[node] = step.write(builder, args)
            elif type(op) is Item and node.args[0] in parts:
                parts[node] = builder.item(parts[node.args[0]], op.index)
            elif node in self._readings and node.args[0] in parts:
                reading = self._readings[node]
                builder.replaced[node] = reading.from_window(builder, parts[node.args[0]])

    def _visit(self, node: Apply) -> None:
        """Say what a node needs of its arguments; all that use the node have said so before."""
        if node in self._readings:
            self._want(node.args[0], 0, self._readings[node].window)
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
        for place, arg in enumerate(node.args):
            if place in step.windows:
                self._want(arg, 0, step.windows[place])
            else:
                self._whole.add(arg)

    def _want(self, node: GraphNode, number: int, window: AxisWindow) -> None:
        """Only `window` of a result is needed, as far as is known; two windows are the whole."""
        if self._wanted.setdefault(node, {}).setdefault(number, window) != window:
            self._whole.add(node)
