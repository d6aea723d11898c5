"""Type checking of loaded graphs: infers all types again and compares them."""

from __future__ import annotations

from typing import Any

from mycelia._engine.compiler.frontend.type_inference import result_type
from mycelia._engine.core.dtype import bool_, int32
from mycelia._engine.ir.analysis import is_recursive, ordered, reachable_graphs
from mycelia._engine.ir.control_flow import (
    CALL,
    SWITCH,
    TUPLE,
    WHILE,
    Item,
    Scan,
    Vmap,
    graphs_of,
    operands_of,
    primitive_of,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.printer import show_type
from mycelia._engine.ir.serialization import damaged
from mycelia._engine.ir.types import TensorType

_TRUTH, _INDEX = TensorType(bool_, ()), TensorType(int32, ())


def check_types(root: Graph) -> None:
    """Raise a ValueError if the type of a node of `root` is wrong."""
    graphs = reachable_graphs(root)
    for graph in graphs:
        if is_recursive(graph):
            raise damaged(f"the recursive graph {graph.name}")
    for graph in graphs:
        for node in ordered(graph):
            if isinstance(node, Apply):
                _check_node(graph, node)


def _check_node(graph: Graph, node: Apply) -> None:
    expected = _type_of(node)
    if node.type != expected:
        name = getattr(primitive_of(node), "name", "a function")
        shown = f"{show_type(node.type)!s:.80}, but inferred as {show_type(expected)!s:.80}"
        raise damaged(f"in {graph.name}, a result of {name} of the type {shown}")


def _type_of(node: Apply) -> Any:
    op = primitive_of(node)
    if op is TUPLE:
        return tuple([_typed(a) for a in node.args])
    if type(op) is Item:
        return _item(op, node)
    if op in (SWITCH, WHILE, CALL) or type(op) in (Vmap, Scan):
        return _control(op, node)
    return _result(op, node)


def _item(op: Item, node: Apply) -> Any:
    types = node.args[0].type if len(node.args) == 1 else None
    if not isinstance(types, tuple) or type(op.index) is not int:
        raise damaged("an item of a value that is not a tuple")
    if not 0 <= op.index < len(types):
        raise damaged(f"item {op.index} of {len(types)} values")
    return types[op.index]


def _result(op: Primitive, node: Apply) -> Any:
    """The result type of an operator; errors of its `infer` rule become ValueErrors."""
    static = op.arguments.static
    full = [_known(a) if i in static else _typed(a) for i, a in enumerate(node.args)]
    data, known = op.arguments.split(tuple(full))
    try:
        return result_type(op, data, known)
    except Exception as error:
        raise damaged(f"invalid arguments of {op.name}: {error}") from error


def _known(node: GraphNode) -> Any:
    if not isinstance(node, GraphConstant):
        raise damaged("a static argument that is not a constant")
    return node.value


def _typed(node: GraphNode) -> Any:
    """The type of a data argument; None for an omitted one."""
    if isinstance(node, GraphConstant) and node.type is None and node.value is not None:
        raise damaged(f"{node.value!r:.60} instead of a tensor")
    return node.type


def _control(op: Primitive, node: Apply) -> Any:
    graphs, operands = graphs_of(node), [_typed(a) for a in operands_of(node)]
    if not graphs or not all(isinstance(g.output.type, tuple) for g in graphs[1:]):
        raise damaged(f"a {op.name} without graphs that return tuples")
    if isinstance(op, Vmap):
        return _mapped(op, graphs[0], operands)
    if isinstance(op, Scan):
        return _scanned(op, graphs[0], operands)
    for graph in graphs:
        if [p.type for p in graph.parameters] != operands:
            raise damaged(f"a {op.name} whose graph {graph.name} expects other arguments")
    if op is SWITCH:
        return _chosen(node, graphs)
    result = graphs[-1].output.type
    if op is WHILE:
        if len(graphs) != 2 or graphs[0].output.type != _TRUTH:
            raise damaged("a loop whose condition is not a boolean")
        if tuple(operands[: len(result)]) != result:
            raise damaged("a loop whose results differ from its carry")
    return result


def _chosen(node: Apply, graphs: list[Graph]) -> Any:
    index, result = node.args[0].type, graphs[0].output.type
    if index != _INDEX and not (index == _TRUTH and len(graphs) == 2):
        raise damaged(f"a choice by {show_type(index)!s:.60}")
    if any(graph.output.type != result for graph in graphs):
        raise damaged("a choice between graphs with different results")
    return result


def _mapped(op: Vmap, graph: Graph, operands: list[Any]) -> Any:
    axes, results = (op.in_axes, op.out_axes), graph.output.type
    if not all(isinstance(a, tuple) for a in (*axes, results)) or type(op.size) is not int:
        raise damaged("a map without axes")
    if len(op.in_axes) != len(operands) or len(op.out_axes) != len(results):
        raise damaged("a map whose numbers of axes and values differ")
    taken = [_without(t, a, op.size) for t, a in zip(operands, op.in_axes, strict=True)]
    if [p.type for p in graph.parameters] != taken:
        raise damaged(f"a map whose graph {graph.name} expects other arguments")
    return tuple([_with(t, a, op.size) for t, a in zip(results, op.out_axes, strict=True)])


def _scanned(op: Scan, graph: Graph, operands: list[Any]) -> Any:
    numbers, results = (op.carry, op.mapped, op.length), graph.output.type
    if not all(type(n) is int and n >= 0 for n in numbers) or not isinstance(results, tuple):
        raise damaged("a scan without sizes")
    end = op.carry + op.mapped
    if len(operands) < end or tuple(operands[: op.carry]) != results[: op.carry]:
        raise damaged("a scan whose results differ from its carry")
    mapped = [_without(t, 0, op.length) for t in operands[op.carry : end]]
    if [p.type for p in graph.parameters] != [*operands[: op.carry], *mapped, *operands[end:]]:
        raise damaged(f"a scan whose graph {graph.name} expects other arguments")
    stacked = [_with(t, 0, op.length) for t in results[op.carry :]]
    return *results[: op.carry], *stacked


def _without(type_: TensorType, axis: Any, size: int) -> TensorType:
    if axis is None:
        return type_
    if type(axis) is not int or not 0 <= axis < type_.ndim or type_.shape[axis] != size:
        raise damaged(f"a map of {size} over axis {axis!r:.60} of {type_}")
    return type_.with_shape(type_.shape[:axis] + type_.shape[axis + 1 :])


def _with(type_: TensorType, axis: Any, size: int) -> TensorType:
    if type(axis) is not int or not 0 <= axis <= type_.ndim:
        raise damaged(f"a map into axis {axis!r:.60} of {type_}")
    return type_.with_shape((*type_.shape[:axis], size, *type_.shape[axis:]))
