"""Graphs: named functions whose bodies are nodes."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.source_location import Span
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter


class Graph:
    """A function: parameters, and the node that is its result.

    A graph keeps its identity through every rewrite; only its output is replaced. So recursion is a
    constant that names a graph, and a closure is a node that refers to an enclosing graph.
    """

    def __init__(self, name: str, *, span: Span | None = None) -> None:
        self.name = name
        self.span = span
        self.parameters: tuple[GraphParameter, ...] = ()
        self._output: GraphNode | None = None

    @property
    def output(self) -> GraphNode:
        if self._output is None:
            raise problem(RuntimeError, f"the graph {self.name} has no result yet")
        return self._output

    @output.setter
    def output(self, node: GraphNode) -> None:
        self._output = node

    def parameter(self, name: str, *, span: Span | None = None, type: Any = None) -> GraphParameter:
        """Append a parameter."""
        new = GraphParameter(name, self, span=span, type=type)
        self.parameters = (*self.parameters, new)
        return new

    def apply(self, fn: Any, *args: Any, span: Span | None = None, type: Any = None) -> Apply:
        """A node of this graph that applies `fn`; plain values become constants."""
        return Apply(as_node(fn), tuple(map(as_node, args)), self, span=span, type=type)

    def __repr__(self) -> str:
        return f"Graph({self.name})"


def as_node(value: Any) -> GraphNode:
    """A node unchanged, any other value as a constant."""
    return value if isinstance(value, GraphNode) else GraphConstant(value)
