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

from mycelia.compiler.building import Builder
from mycelia.compiler.narrowing.reading import Reading
from mycelia.compiler.narrowing.window import Window
from mycelia.compiler.tracer import Tracer
from mycelia.core.lazy import LazyModule
from mycelia.core.settings import selects_kernels
from mycelia.ir.analysis import applications
from mycelia.ir.control import Item, primitive_of
from mycelia.ir.node import Apply, Node

if TYPE_CHECKING:
    from mycelia.compiler.narrowing import steps
else:  # what programs that read everything do without
    steps = LazyModule("mycelia.compiler.narrowing.steps")

LEAST_SPARED = 1 << 16  # operations; fewer are not worth another graph


def narrow(tracer: Tracer, outputs: Sequence[Any], kept: Iterable[Any] = ()) -> list[Any]:
    """`outputs`, computed for windows where only those are read; `kept` is needed as it is."""
    builder = tracer.root
    if tracer.builder is not builder or tracer.materialized is not None:
        return list(outputs)
    roots = [node for node in (*outputs, *kept) if isinstance(node, Node)]
    nodes = applications(roots)
    readings = {node: found for node in nodes if (found := Reading.of(node)) is not None}
    plan = _Plan(nodes, readings, roots) if readings else None
    if plan is not None and plan.spared >= LEAST_SPARED:
        is_wanted = selects_kernels()
        tracer.guards.fact(selects_kernels, (), is_wanted)
        if is_wanted:
            plan.write(builder)
            tracer.narrowed += plan.count
    return builder.substituted(list(outputs))


class _Plan:
    """Which operators are computed for a window only, found from the results down."""

    def __init__(
        self, nodes: list[Apply], readings: dict[Apply, Reading], roots: Sequence[Node]
    ) -> None:
        self.spared = 0.0
        self._nodes, self._readings = nodes, readings
        self._whole: set[Node] = set(roots)
        self._wanted: dict[Node, steps.Wanted] = {}
        self._steps: dict[Apply, steps.Step] = {}
        for node in reversed(nodes):
            self._visit(node)

    @property
    def count(self) -> int:
        """How many operators are computed for a window."""
        return len(self._steps)

    def write(self, builder: Builder) -> None:
        """Add the operators for windows to the graph; readings read from them."""
        parts: dict[Node, Node] = {}
        cuts: dict[tuple[Node, Window], Node] = {}

        def part(node: Node, window: Window) -> Node:
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
        step = steps.step_for(node, wanted) if wanted else None
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

    def _want(self, node: Node, number: int, window: Window) -> None:
        """Only `window` of a result is needed, as far as is known; two windows are the whole."""
        if self._wanted.setdefault(node, {}).setdefault(number, window) != window:
            self._whole.add(node)
