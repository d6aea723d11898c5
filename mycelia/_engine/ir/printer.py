"""Graphs as text, for reading and for tests, optionally with the user's source lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.dtype import DType, bool_, float32, from_numpy, int64
from mycelia._engine.core.source_location import Span
from mycelia._engine.ir.analysis import nodes_by_graph
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter
from mycelia._engine.ir.primitive import Primitive

_PLAIN = (bool_, int64, float32)  # dtypes of Python's numbers, which are printed without dtype
_MOST_ELEMENTS = 8  # larger arrays are not printed


def show(root: Graph, *, lines: bool = False) -> str:
    """All graphs reachable from `root`, one after another; `lines` adds the user's source."""
    return _GraphPrinter(lines).show(root)


class _GraphPrinter:
    """Gives every graph a unique name and numbers the applications of each graph."""

    def __init__(self, lines: bool) -> None:
        self.lines = lines
        self.graph_names: dict[Graph, str] = {}
        self.names: dict[GraphNode, str] = {}

    def show(self, root: Graph) -> str:
        bodies = nodes_by_graph(root)
        for graph in bodies:
            self._name_graph(graph)
        for graph, nodes in bodies.items():
            prefix = "" if graph is root else f"{self.graph_names[graph]}."
            for parameter in graph.parameters:
                self.names[parameter] = f"{prefix}{parameter.name}"
            for number, node in enumerate(nodes, start=1):
                self.names[node] = f"{prefix}%{number}"
        return "\n\n".join(self._show_graph(graph, nodes) for graph, nodes in bodies.items())

    def _name_graph(self, graph: Graph) -> None:
        taken = set(self.graph_names.values())
        name, number = graph.name, 2
        while name in taken:
            name, number = f"{graph.name}_{number}", number + 1
        self.graph_names[graph] = name

    def _show_graph(self, graph: Graph, nodes: list[Apply]) -> str:
        head = ", ".join(self._with_type(p) for p in graph.parameters)
        rows = [f"graph {self.graph_names[graph]}({head}):{self._source(graph.span)}"]
        for node in nodes:
            args = ", ".join(map(self._name, node.args))
            row = f"  {self._with_type(node)} = {self._name(node.fn)}({args})"
            rows.append(row + self._source(node.span))
        rows.append(f"  return {self._name(graph.output)}")
        return "\n".join(rows)

    def _with_type(self, node: GraphParameter | Apply) -> str:
        name = self.names[node]
        return name if node.type is None else f"{name}: {show_type(node.type)}"

    def _name(self, node: GraphNode) -> str:
        if isinstance(node, GraphConstant):
            return self._constant(node.value)
        return self.names[node]

    def _constant(self, value: Any) -> str:
        if isinstance(value, Graph):
            return f"@{self.graph_names[value]}"
        if isinstance(value, Primitive):
            fields = ", ".join(f"{k}={self._constant(v)}" for k, v in value.attrs.items())
            return f"{value.name}[{fields}]" if fields else value.name
        if isinstance(value, tuple):
            return _in_parentheses([self._constant(v) for v in value])
        if isinstance(value, DType):
            return value.short
        if isinstance(value, np.ndarray | np.generic) or hasattr(value, "sharding"):
            return _show_array(value)
        return getattr(value, "__name__", None) or repr(value)

    def _source(self, span: Span | None) -> str:
        if not self.lines or span is None:
            return ""
        return f"  # {Path(span.file).name}:{span.line} {span.text.strip()}"


def show_type(type_: Any) -> str:
    """A type as text: `f32[2]`, and `(f32[2], i64[])` for several values."""
    if isinstance(type_, tuple):
        return _in_parentheses([show_type(t) for t in type_])
    return str(type_)


def _in_parentheses(parts: list[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _show_array(value: Any) -> str:
    """A number (with its dtype if it is not a Python type), a short array, or only the type."""
    dtype = from_numpy(value.dtype)
    if not value.shape:
        number = str(np.asarray(value)[()])
        return number if dtype in _PLAIN else f"{dtype.short}({number})"
    elements = "..."
    if value.size <= _MOST_ELEMENTS:
        elements = ", ".join(map(str, np.asarray(value).ravel()))
    return f"{dtype.short}[{','.join(map(str, value.shape))}]{{{elements}}}"
