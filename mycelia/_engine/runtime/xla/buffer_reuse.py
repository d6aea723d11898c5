"""Results that take the place of inputs: which readers of the input have to be done before.

XLA copies an input that is written while something else may still read it. A new weight is computed
from a gradient, and most that reads the old weight is needed for that gradient; the rest has to be
found, so that it can be waited for.
"""

from __future__ import annotations

from functools import reduce
from itertools import zip_longest
from operator import or_
from typing import Any

from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.control_flow import Item, Tuple, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.operator import Op
from mycelia.ops.shapes.reshape import Reshape, Transpose

_LARGE = 1 << 14
_PASSING = Tuple | Item | Transpose | Reshape  # the next operator reads what these were given


def other_readers(graph: Graph, in_place: dict[int, int]) -> dict[int, list[Apply]]:
    """What reads an input and is not needed for the output that takes its place, by output."""
    if not in_place:
        return {}
    outputs = graph.output.args if isinstance(graph.output, Apply) else ()
    readers = _readers(graph, {graph.parameters[i] for i in in_place.values()})
    bits = {node: 1 << i for i, node in enumerate({n: None for r in readers.values() for n in r})}
    needs = _needs(graph, bits)
    found = {}
    for place, number in in_place.items():
        needed = _all(needs[outputs[place]])
        others = [r for r in readers[graph.parameters[number]] if not needed & bits[r]]
        if others and _is_large(outputs[place]):
            found[place] = others
    return found


def _readers(graph: Graph, inputs: set[Any]) -> dict[GraphNode, list[Apply]]:
    """What computes something from each input, perhaps turned or as a part of a tuple."""
    sources: dict[GraphNode, list[GraphNode]] = {
        p: [p] for p in inputs
    }  # of tuples, and of their parts
    found: dict[GraphNode, list[Apply]] = {p: [] for p in inputs}
    for node in ordered(graph):
        if not isinstance(node, Apply) or node is graph.output:
            continue
        read = dict.fromkeys(s for a in node.args for s in sources.get(a, ()))
        if isinstance(primitive_of(node), _PASSING):
            sources[node] = list(read)
        else:
            for source in read:
                found[source].append(node)
    return found


def _needs(graph: Graph, bits: dict[Apply, int]) -> dict[GraphNode, Any]:
    """For each node, which of the marked ones it is computed from; for tuples, by their parts."""
    found: dict[GraphNode, Any] = {}
    for node in ordered(graph):
        if not isinstance(node, Apply):
            found[node] = 0
            continue
        op, given = primitive_of(node), [found[a] for a in node.args]
        if isinstance(op, Tuple):
            found[node] = tuple(given)
        elif isinstance(op, Item):
            whole = given[0]
            found[node] = whole[op.index] if isinstance(whole, tuple) else whole
        elif isinstance(op, Op) and op.each_apart and any(isinstance(g, tuple) for g in given):
            shared = _all(tuple([g for g in given if not isinstance(g, tuple)]))
            columns = zip_longest(*[g for g in given if isinstance(g, tuple)], fillvalue=0)
            each = [shared | _all(column) for column in columns]
            found[node] = _spread(node.type, [mark | bits.get(node, 0) for mark in each])
        else:
            found[node] = _all(tuple(given)) | bits.get(node, 0)
    return found


def _all(mark: Any) -> int:
    """Everything that any part needs."""
    return reduce(or_, map(_all, mark), 0) if isinstance(mark, tuple) else mark


def _spread(type_: Any, each: list[int]) -> Any:
    """The marks of the parts of tuples, in the structure of an operator's results."""
    if not isinstance(type_, tuple):
        return _all(tuple(each))
    if all(isinstance(t, TensorType) for t in type_):
        return tuple(each)
    return tuple([_spread(t, each) for t in type_])


def _is_large(node: GraphNode) -> bool:
    """Whether a node computes so many floats that copying them would cost something."""
    if not isinstance(node, Apply) or not isinstance(node.type, TensorType):
        return False
    return node.type.dtype.is_float and node.size >= _LARGE
