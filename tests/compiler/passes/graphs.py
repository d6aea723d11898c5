"""Writing small typed graphs by hand, and rewriting them to text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import constant, type_of_array
from mycelia._engine.ir.control_flow import SWITCH, TUPLE, WHILE, Item
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.printer import show
from mycelia._engine.ir.rewrite import rewrite
from mycelia._engine.ir.types import parse_type
from mycelia._engine.ir.verifier import verify


class Written(Graph):
    """A graph whose nodes are made by calling it: `g(Mul.of(), x, y)`, with inferred types."""

    def __call__(self, op: Any, *args: Any) -> Apply:
        nodes = [self.node(a) for a in args]
        types = [n.value if _is_static(n) else n.type for n in nodes]
        return self.apply(op, *nodes, type=op.infer(*types))

    def node(self, value: Any) -> GraphNode:
        return value if isinstance(value, GraphNode) else constant(value)

    def tuple(self, *parts: Any) -> Apply:
        nodes = [self.node(p) for p in parts]
        return self.apply(TUPLE, *nodes, type=tuple(n.type for n in nodes))

    def item(self, whole: GraphNode, index: int) -> Apply:
        return self.apply(Item(index), whole, type=whole.type[index])

    def switch(self, index: Any, graphs: Sequence[Graph], *operands: Any) -> Apply:
        args = [self.node(a) for a in (index, *graphs, *operands)]
        return self.apply(SWITCH, *args, type=graphs[0].output.type)

    def loop(self, goes_on: Graph, step: Graph, *operands: Any) -> Apply:
        args = [self.node(a) for a in (goes_on, step, *operands)]
        return self.apply(WHILE, *args, type=step.output.type)


def graph(parameters: str, body: Callable[..., Any], name: str = "g") -> Written:
    """A graph with parameters written as `x f32[2], n i64[]`; a tuple from `body` is its results."""
    made = Written(name)
    for text in filter(None, parameters.split(", ")):
        label, type_ = text.split(" ")
        made.parameter(label, type=parse_type(type_))
    output = body(made, *made.parameters)
    made.output = made.tuple(*output) if isinstance(output, tuple) else made.node(output)
    return made


def before_and_after(made: Graph, rules: Sequence[Any]) -> tuple[str, str]:
    """The text of a graph, and what it is after the rules were applied."""
    before = text(made)
    rewrite(made, rules)
    verify(made)
    return before, text(made)


def text(made: Graph) -> str:
    """All graphs as text; of a single one only its rows, one after the other."""
    shown = show(made)
    if "\n\n" in shown:
        return shown
    return "; ".join(row.strip() for row in shown.splitlines()[1:])


def _is_static(node: GraphNode) -> bool:
    return isinstance(node, GraphConstant) and type_of_array(node.value) is None
