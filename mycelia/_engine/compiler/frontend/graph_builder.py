"""Graph construction: adding nodes, and capturing values of outer graphs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.path_conflict import PathConflict, conflict_error
from mycelia._engine.core.dtype import from_numpy
from mycelia._engine.core.source_location import Span
from mycelia._engine.ir.control_flow import SWITCH, TUPLE, WHILE, Item, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter, owner
from mycelia._engine.ir.types import TensorType


@dataclass(frozen=True, eq=False)
class StaleNode(GraphNode):
    """The data of a tensor that may have been written through an alias: it cannot be used."""

    conflict: PathConflict


class GraphBuilder:
    """One graph under construction, possibly inside another one.

    Values of outer graphs that its nodes use become parameters, so the graph is closed; `captured`
    holds the outer values, in the order of those parameters.
    """

    def __init__(
        self, name: str, outer: GraphBuilder | None = None, span: Span | None = None
    ) -> None:
        self.graph = Graph(name, span=span)
        self.outer = outer
        self.captured: dict[GraphNode, GraphParameter] = {}
        self.replaced: dict[GraphNode, GraphNode] = {}
        self._items: dict[tuple[GraphNode, int], GraphNode] = {}
        self._names: dict[str, int] = {}  # of parameters, with the last suffix used for each

    def parameter(self, name: str, type_: Any) -> GraphParameter:
        return self.graph.parameter(self._free_name(name), type=type_)

    def local(self, node: GraphNode) -> GraphNode:
        """`node` as seen from this graph."""
        holder = owner(node)
        if holder is self.graph or holder is None:
            if type(node) is StaleNode:
                raise conflict_error(node.conflict)
            return node
        found = self.captured.get(node)
        if found is None:
            if self.outer is not None:
                self.outer.local(node)
            name = node.name if isinstance(node, GraphParameter) else "outer"
            found = self.captured[node] = self.parameter(name, node.type)
        return found

    def apply(
        self, fn: Any, args: tuple[Any, ...], type_: Any, span: Span | None = None
    ) -> GraphNode:
        """Add an application of `fn`; arguments may belong to outer graphs."""
        nodes = tuple([self.local(a) if isinstance(a, GraphNode) else constant(a) for a in args])
        return Apply(constant(fn), nodes, self.graph, span=span, type=type_)

    def item(self, node: GraphNode, index: int) -> GraphNode:
        """One element of a node whose value is a tuple."""
        node = self.local(node)
        if primitive_of(node) is TUPLE:
            assert isinstance(node, Apply)
            return node.args[index]
        key = (node, index)
        found = self._items.get(key)
        if found is None:
            type_ = node.type[index]
            found = self.apply(Item(index), (node,), type_, node.span)
            self._items[key] = found
        return found

    def tuple(self, nodes: tuple[Any, ...]) -> GraphNode:
        """A tuple of nodes, as one node."""
        parts = tuple([self.local(n) if isinstance(n, GraphNode) else constant(n) for n in nodes])
        return self.apply(TUPLE, parts, tuple([p.type for p in parts]))

    def switch(
        self, index: GraphNode, branches: list[GraphBuilder], span: Span | None = None
    ) -> GraphNode:
        """A switch between finished graphs; all branches receive all captured values."""
        operands: dict[GraphNode, None] = {}
        for branch in branches:
            operands.update(dict.fromkeys(branch.captured))
        for branch in branches:
            branch.graph.parameters = tuple(branch._capture(node) for node in operands)
        graphs = [branch.graph for branch in branches]
        args = (index, *graphs, *operands)
        return self.apply(SWITCH, args, graphs[0].output.type, span)

    def enclose(self, primitive: Any, part: GraphBuilder, span: Span | None = None) -> GraphNode:
        """Apply a primitive to a finished graph and its captured values."""
        args = (part.graph, *part.captured)
        return self.apply(primitive, args, part.graph.output.type, span)

    def loop(
        self,
        condition: GraphBuilder,
        step: GraphBuilder,
        carry: list[GraphNode],
        span: Span | None = None,
    ) -> GraphNode:
        """A while loop of two finished graphs whose first parameters are the carry."""
        count = len(carry)
        fixed = dict.fromkeys([*condition.captured, *step.captured])
        for part in (condition, step):
            own = part.graph.parameters[:count]
            part.graph.parameters = (*own, *(part._capture(node) for node in fixed))
        args = (condition.graph, step.graph, *carry, *fixed)
        return self.apply(WHILE, args, step.graph.output.type, span)

    def finish(self, output: GraphNode) -> None:
        """Set the graph's output, after all substitutions."""
        self.graph.output = self.substituted([output])[0]

    def substituted(self, nodes: list[Any]) -> list[Any]:
        """`nodes` with the replacements in `replaced` applied to all they need; None stays None."""
        if not self.replaced:
            return nodes
        new: dict[GraphNode, GraphNode] = {}
        stack: list[tuple[GraphNode, bool]] = [(n, False) for n in nodes if n is not None]
        while stack:
            node, done = stack.pop()
            if node in new:
                continue
            target = self.replaced.get(node)
            if target is not None:
                if target in new:
                    new[node] = new[target]
                else:
                    stack += [(node, False), (target, False)]
            elif not isinstance(node, Apply):
                new[node] = node
            elif done:
                args = tuple([new[a] for a in node.args])
                unchanged = all(a is b for a, b in zip(args, node.args, strict=True))
                new[node] = node if unchanged else _rebuilt(node, args)
            else:
                stack.append((node, True))
                stack += [(a, False) for a in node.args if a not in new]
        return [None if n is None else new[n] for n in nodes]

    def _capture(self, node: GraphNode) -> GraphParameter:
        """The parameter for an outer node; a new one is not appended to the parameters yet."""
        found = self.captured.get(node)
        if found is None:
            name = self._free_name(node.name if isinstance(node, GraphParameter) else "outer")
            found = self.captured[node] = GraphParameter(name, self.graph, type=node.type)
        return found

    def _free_name(self, name: str) -> str:
        """The name, with a suffix if another parameter has it."""
        found, number = name, self._names.get(name, 0)
        while found in self._names:
            number += 1
            found = f"{name}_{number}"
        self._names[name] = max(number, 1)
        self._names.setdefault(found, 1)
        return found


def _rebuilt(node: Apply, args: tuple[GraphNode, ...]) -> GraphNode:
    op = primitive_of(node)
    if type(op) is Item and primitive_of(args[0]) is TUPLE:
        assert isinstance(args[0], Apply)
        return args[0].args[op.index]
    return replace(node, args=args)


def constant(value: Any) -> GraphConstant:
    """A constant node; arrays are typed."""
    if isinstance(value, GraphConstant):
        return value
    return GraphConstant(value, type=type_of_array(value))


def type_of_array(value: Any) -> Any:
    """The type of an array, a node, or a tuple of them; None for anything else."""
    if isinstance(value, GraphNode):
        return value.type
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "sharding"):
        return TensorType(from_numpy(value.dtype), tuple(value.shape))
    return None
