"""Graph analyses, computed on demand: node order, reachable graphs, free variables, uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter, owner
from mycelia._engine.ir.primitive import tagged

SMALL = 1024  # arrays up to this many elements are compared by value


def ordered(graph: Graph) -> list[GraphNode]:
    """The nodes that the output of `graph` depends on, in any graph, inputs before users."""
    return _after_inputs([graph.output], lambda node: True)


def applications(roots: list[GraphNode]) -> list[Apply]:
    """The applications among `roots` and what they depend on, inputs before users."""
    return [node for node in _after_inputs(roots, lambda node: True) if isinstance(node, Apply)]


def nodes_by_graph(root: Graph) -> dict[Graph, list[Apply]]:
    """For every graph reachable from `root`, its applications, inputs before users.

    They include those that only a closure uses.
    """
    bodies: dict[Graph, list[Apply]] = {graph: [] for graph in reachable_graphs(root)}
    outputs = [graph.output for graph in bodies]
    for node in _after_inputs(outputs, lambda node: True):
        if isinstance(node, Apply):
            bodies.setdefault(node.graph, []).append(node)
    return bodies


def referenced_graphs(graph: Graph) -> list[Graph]:
    """The graphs referenced by constants in the body of `graph`, each once, in order."""
    graphs: dict[Graph, None] = {}
    for node in ordered(graph):
        if isinstance(node, GraphConstant) and isinstance(node.value, Graph):
            graphs[node.value] = None
    return list(graphs)


def reachable_graphs(root: Graph) -> list[Graph]:
    """`root` and all graphs it references, directly or through others, parents first."""
    graphs: dict[Graph, None] = {root: None}
    waiting = [root]
    while waiting:
        for graph in referenced_graphs(waiting.pop(0)):
            if graph not in graphs:
                graphs[graph] = None
                waiting.append(graph)
    return list(graphs)


def free_variables(graph: Graph) -> list[GraphNode]:
    """The nodes of enclosing graphs that `graph`, or a graph it references, uses."""
    return list(all_free_variables(graph)[graph])


def all_free_variables(root: Graph) -> dict[Graph, dict[GraphNode, None]]:
    """The free variables of every graph reachable from `root`.

    A graph also has the free variables of the graphs that it references, except its own nodes.
    Because of recursion this is a fixed point: the sets grow until nothing changes.
    """
    graphs = reachable_graphs(root)
    free: dict[Graph, dict[GraphNode, None]] = {g: dict.fromkeys(_foreign_nodes(g)) for g in graphs}
    names = {g: referenced_graphs(g) for g in graphs}
    changed = True
    while changed:
        changed = False
        for graph in graphs:
            for inner in names[graph]:
                for node in free[inner]:
                    if owner(node) is not graph and node not in free[graph]:
                        free[graph][node] = None
                        changed = True
    return free


def uses(root: Graph) -> dict[GraphNode, list[tuple[Apply, int]]]:
    """For each node of all reachable graphs, the applications that use it and the input index."""
    found: dict[GraphNode, list[tuple[Apply, int]]] = {}
    seen: set[GraphNode] = set()
    for graph in reachable_graphs(root):
        for node in ordered(graph):
            if isinstance(node, Apply) and node not in seen:
                seen.add(node)
                for index, used in enumerate(node.inputs):
                    found.setdefault(used, []).append((node, index))
    return found


def is_recursive(graph: Graph) -> bool:
    """Whether `graph` can reach itself through the graphs that it references."""
    return any(graph in reachable_graphs(inner) for inner in referenced_graphs(graph))


def used_parameters(graph: Graph) -> set[GraphParameter]:
    """The parameters that the output of `graph` depends on."""
    missing = set(graph.parameters)
    seen: set[GraphNode] = set()
    waiting = [graph.output]
    while waiting and missing:
        node = waiting.pop()
        if isinstance(node, GraphParameter):
            missing.discard(node)
        elif isinstance(node, Apply) and node not in seen:
            seen.add(node)
            waiting += node.inputs
    return {p for p in graph.parameters if p not in missing}


def same_graphs(first: Graph, second: Graph) -> bool:
    """Whether two closed graphs are identical, node by node."""
    return _GraphComparison().same_graphs(first, second)


class _GraphComparison:
    """Compares pairs of graphs; a pair that is still being compared counts as equal."""

    def __init__(self) -> None:
        self._assumed: set[tuple[Graph, Graph]] = set()

    def same_graphs(self, first: Graph, second: Graph) -> bool:
        if first is second or (first, second) in self._assumed:
            return True
        self._assumed.add((first, second))
        if [p.type for p in first.parameters] != [p.type for p in second.parameters]:
            return False
        pairs: dict[GraphNode, GraphNode] = dict(
            zip(first.parameters, second.parameters, strict=True)
        )
        waiting = [(first.output, second.output)]
        while waiting:
            one, other = waiting.pop()
            if one in pairs:
                if pairs[one] is not other:
                    return False
            elif isinstance(one, GraphConstant) and isinstance(other, GraphConstant):
                if not self._same_constants(one, other):
                    return False
            elif isinstance(one, Apply) and isinstance(other, Apply):
                if one.type != other.type or len(one.args) != len(other.args):
                    return False
                pairs[one] = other
                waiting += zip(one.inputs, other.inputs, strict=True)
            else:
                return False
        return True

    def _same_constants(self, one: GraphConstant, other: GraphConstant) -> bool:
        first, second = one.value, other.value
        if isinstance(first, Graph) and isinstance(second, Graph):
            return self.same_graphs(first, second)
        return same_constants(one, other)


def same_constants(first: GraphConstant, second: GraphConstant) -> bool:
    """Whether two constants that are not graphs have the same type and value, of any size."""
    if first.type != second.type:
        return False
    if constant_key(first) == constant_key(second):
        return True
    if first.type is None or _elements(first.value) <= SMALL:
        return False
    return np.asarray(first.value).tobytes() == np.asarray(second.value).tobytes()


def constant_key(node: GraphConstant) -> Any:
    """A key that equal constants share: bytes for small arrays, identity for large ones."""
    value = node.value
    if node.type is None:
        return tagged(value)
    if _elements(value) <= SMALL and isinstance(value, np.ndarray | np.generic):
        return (node.type, value.tobytes())
    return (node.type, id(value))


def _elements(value: Any) -> int:
    """The number of elements of an array; 0 for other values."""
    return getattr(value, "size", 0)


def _foreign_nodes(graph: Graph) -> Iterator[GraphNode]:
    """The nodes just outside `graph`: used in it, computed elsewhere."""
    for node in _after_inputs([graph.output], lambda n: owner(n) in (graph, None)):
        if isinstance(node, (Apply, GraphParameter)) and node.graph is not graph:
            yield node


def _after_inputs(
    roots: list[GraphNode], goes_into: Callable[[GraphNode], bool]
) -> list[GraphNode]:
    """Depth-first order without recursion: each node once, after its inputs."""
    found: dict[GraphNode, None] = {}
    stack: list[tuple[GraphNode, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, inputs_done = stack.pop()
        if node in found:
            continue
        if inputs_done or not isinstance(node, Apply) or not goes_into(node):
            found[node] = None
            continue
        stack.append((node, True))
        stack.extend((used, False) for used in reversed(node.inputs) if used not in found)
    return list(found)
