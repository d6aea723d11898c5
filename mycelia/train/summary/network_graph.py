"""Network graphs for TensorBoard: the program, or the tree of cells if there is none."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.core.source_location import Span
from mycelia._engine.ir.analysis import nodes_by_graph
from mycelia._engine.ir.control_flow import Custom, Effect, graphs_of, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.program import InputSource, Program
from mycelia._engine.ir.types import TensorType
from mycelia.insight.graph import EventGraphNode, graph_def
from mycelia.nn.cell import Cell
from mycelia.transforms.jit import compiled_of
from mycelia.transforms.show import trace_for

_TREE_ROOT = "network"


def network_graph(network: Cell, inputs: tuple[Any, ...] | None = None) -> bytes:
    """The graph of a network for some inputs, or as last compiled; else the tree of its cells."""
    program = _compiled_program(network) if inputs is None else _traced_program(network, inputs)
    if program is None:
        return graph_def(_cell_nodes(network))
    return graph_def(_ProgramNodes(program).all())


def _traced_program(network: Cell, inputs: tuple[Any, ...]) -> Program | None:
    """The program of the network for these inputs; None if it has graph breaks."""
    try:
        return trace_for(network, inputs).read.plain
    except GraphBreak:
        return None


def _compiled_program(network: Cell) -> Program | None:
    reads = [entry.read for entry in compiled_of(network).entries.values()]
    programs = [read.plain for read in reads if read is not None]
    return programs[-1] if programs else None


def _cell_nodes(network: Cell) -> list[EventGraphNode]:
    """Each cell, connected to its parameters."""
    nodes = []
    for path, cell in network.cells_and_names():
        scope = path.replace(".", "/") or _TREE_ROOT
        own = [
            EventGraphNode(f"{scope}/{name}", "Parameter", shape=parameter.shape)
            for name, parameter in cell._params.items()
            if parameter is not None
        ]
        kind = type(cell).__name__
        nodes += [*own, EventGraphNode(f"{scope}/{kind}", kind, tuple(node.name for node in own))]
    return nodes


class _ProgramNodes:
    """The nodes of a program by name; operators on a cell's parameters are in the cell's scope."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names: dict[GraphNode, str] = {}
        self._parameter_scopes: dict[GraphNode, str] = {}  # nodes computed from parameters only
        self._used: Counter[str] = Counter()
        self._nodes: list[EventGraphNode] = []

    def all(self) -> list[EventGraphNode]:
        """All nodes, inputs before users."""
        root = self._program.graph
        bodies = nodes_by_graph(root)
        for graph in bodies:
            self._add_parameters(graph)
        for graph in reversed(list(bodies)):  # inner graphs first: outer nodes name their results
            for node in bodies[graph]:
                self._add_apply(node)
        return self._nodes

    def _add_parameters(self, graph: Graph) -> None:
        is_root = graph is self._program.graph
        sources = self._program.inputs if is_root else (None,) * len(graph.parameters)
        for node, source in zip(graph.parameters, sources, strict=True):
            path, kind = f"{graph.name}/{node.name}", "Placeholder"
            if source is not None and source.source is InputSource.STATE:
                path, kind = source.which.name.replace(".", "/"), "Parameter"
                self._parameter_scopes[node] = path.rpartition("/")[0]
            elif is_root:
                path = f"inputs/{node.name}"
            self._add(node, path, kind, ())

    def _add_apply(self, node: Apply) -> None:
        operator = _operator_name(node)
        scope = self._scope_of(node)
        inside = [f"^{self._names[g.output]}" for g in graphs_of(node) if g.output in self._names]
        inputs = [self._names[arg] for arg in node.args if arg in self._names]
        self._add(node, f"{scope}/{operator}" if scope else operator, operator, (*inputs, *inside))

    def _scope_of(self, node: Apply) -> str:
        scopes = [self._parameter_scopes.get(arg) for arg in node.args if arg in self._names]
        scope = next((s for s in scopes if s is not None), "")
        if scopes and all(s == scope for s in scopes):
            self._parameter_scopes[node] = scope
        root = self._program.graph
        return scope or ("" if node.graph is root else node.graph.name)

    def _add(self, node: GraphNode, path: str, operator: str, inputs: tuple[str, ...]) -> None:
        self._used[path] += 1
        name = path if self._used[path] == 1 else f"{path}_{self._used[path] - 1}"
        self._names[node] = name
        sizes = node.type.shape if isinstance(node.type, TensorType) else None
        self._nodes.append(EventGraphNode(name, operator, inputs, sizes, _place(node.span)))


def _place(span: Span | None) -> tuple[tuple[str, str], ...]:
    """The user's source line, as an annotation."""
    if span is None:
        return ()
    return (("line", f"{Path(span.file).name}:{span.line} {span.text.strip()}"),)


def _operator_name(node: Apply) -> str:
    operator = primitive_of(node)
    if isinstance(operator, (Effect, Custom)):
        return operator.attributes["title"]
    return getattr(operator, "name", None) or type(operator).__name__
