"""In-place outputs: the readers of an input that must run before its buffer is overwritten.

XLA copies an input that is overwritten while another operation may still read it. A new weight
depends on a gradient, which depends on most readers of the old weight; this module finds the other
readers, so that the write can wait for them.
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
_PASSING = Tuple | Item | Transpose | Reshape  # their readers count as readers of their input


def other_readers(graph: Graph, in_place: dict[int, int]) -> dict[int, list[Apply]]:
    """The readers of an input that the output in its place does not depend on, by output."""
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
    """The readers of each input, also through transposes, reshapes, and tuples."""
    sources: dict[GraphNode, list[GraphNode]] = {
        p: [p] for p in inputs
    }  # of tuples, and of their items
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
    """For each node, the marked nodes that it depends on; for tuples, by item."""
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
    """The union of the marks of all items."""
    return reduce(or_, map(_all, mark), 0) if isinstance(mark, tuple) else mark


def _spread(type_: Any, each: list[int]) -> Any:
    """Marks in the structure of an operator's results, by item of tuples."""
    if not isinstance(type_, tuple):
        return _all(tuple(each))
    if all(isinstance(t, TensorType) for t in type_):
        return tuple(each)
    return tuple([_spread(t, each) for t in type_])


def _is_large(node: GraphNode) -> bool:
    """Whether a node computes so many floats that a copy would be expensive."""
    if not isinstance(node, Apply) or not isinstance(node.type, TensorType):
        return False
    return node.type.dtype.is_float and node.size >= _LARGE
