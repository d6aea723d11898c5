"""Activity analysis: which results of a graph depend differentiably on which of its parameters.

Floats are always differentiated. Integers are mostly counters, indices, and tokens, so gradients
enter branches and loops through an integer only if they can reach a differentiable parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import or_
from typing import Any

from mycelia._engine.compiler.autodiff.accumulation import is_inexact
from mycelia._engine.core.dtype import promote
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.control_flow import (
    TUPLE,
    WHILE,
    Effect,
    Item,
    Scan,
    graphs_of,
    operands_of,
    primitive_of,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.types import TensorType

Mask = Any  # an int with one bit per parameter, or a tuple of them


def seed_types(types: Sequence[Any], dout: Any) -> dict[int, TensorType]:
    """The types of the gradients that enter a graph, by result index."""
    types_by_result = {}
    for number, type_ in enumerate(types):
        if is_inexact(type_):
            types_by_result[number] = type_
        elif dout is not None and dout[number] is not None:
            types_by_result[number] = type_.with_dtype(dout[number].dtype)
    return types_by_result


def wanted_operands(
    graphs: Sequence[Graph], operands: Sequence[GraphNode], live: Collection[GraphNode], seeds: Any
) -> list[int]:
    """The operands of a control primitive that receive a gradient."""
    numbers = [i for i, o in enumerate(operands) if o in live and isinstance(o.type, TensorType)]
    if all(is_inexact(operands[i].type) for i in numbers):
        return numbers
    used = reduce(
        or_, (mask for graph in graphs for mask in _chosen(reachable_parameters(graph), seeds)), 0
    )
    return [i for i in numbers if is_inexact(operands[i].type) or used >> i & 1]


def looped_operands(
    step: Graph, carry: int, operands: Sequence[GraphNode], live: Collection[GraphNode], seeds: Any
) -> list[int]:
    """The operands of a loop that receive a gradient, including all floats of the carry."""
    types = [o.type for o in operands]
    masks = reachable_parameters(step)
    useful = set(seeds)
    while more := {
        i for k in useful for i in range(carry) if masks[k] >> i & 1 and i not in useful
    }:
        useful |= more
    active = {i for i, o in enumerate(operands) if o in live}
    while more := {
        k for k in range(carry) if k not in active and any(masks[k] >> i & 1 for i in active)
    }:
        active |= more
    used = reduce(or_, (masks[k] for k in useful), 0)
    carried = [i for i in range(carry) if is_inexact(types[i]) or (i in useful and i in active)]
    fixed = [
        i
        for i in range(carry, len(operands))
        if operands[i] in live
        and isinstance(types[i], TensorType)
        and (is_inexact(types[i]) or used >> i & 1)
    ]
    return [*carried, *fixed]


def promoted(types: Sequence[TensorType]) -> TensorType:
    """The type that represents gradients of all these types."""
    dtype = reduce(promote, [t.dtype for t in types])
    return types[0].with_dtype(dtype)


def reachable_parameters(graph: Graph) -> list[int]:
    """For each result of a closed graph, a mask of the parameters that a gradient can reach."""
    masks: dict[GraphNode, Mask] = {p: 1 << i for i, p in enumerate(graph.parameters)}
    for node in ordered(graph):
        if isinstance(node, Apply):
            masks[node] = _mask(node, lambda n: masks.get(n, 0))
    output = masks.get(graph.output, 0)
    return [_joined(m) for m in _parts(output, len(graph.output.type))]


def _mask(node: Apply, known: Callable[[GraphNode], Mask]) -> Mask:
    op = primitive_of(node)
    if op is TUPLE:
        return tuple([known(a) for a in node.args])
    if type(op) is Item:
        whole = known(node.args[0])
        return whole[op.index] if isinstance(whole, tuple) else whole
    if type(op) is Effect or not getattr(op, "differentiable", True):
        return 0
    graphs = graphs_of(node)
    if not graphs:
        return reduce(or_, (_joined(known(a)) for a in node.args), 0)
    masks_of_operands = [_joined(known(o)) for o in operands_of(node)]
    if op is WHILE:
        return _repeated(
            reachable_parameters(graphs[1]), masks_of_operands, len(graphs[1].output.type)
        )
    if type(op) is Scan:
        return _repeated(reachable_parameters(graphs[0]), masks_of_operands, op.carry)
    masks = [[_through(m, masks_of_operands) for m in reachable_parameters(g)] for g in graphs]
    return tuple([reduce(or_, column) for column in zip(*masks, strict=True)])


def _repeated(step: list[int], operands: list[int], carry: int) -> Mask:
    """The masks of a loop: dependencies of one iteration carry over to the next."""
    state = list(operands)
    while True:
        after = [_through(m, state) for m in step]
        grown = [before | new for before, new in zip(state[:carry], after[:carry], strict=True)]
        if grown == state[:carry]:
            return (*grown, *after[carry:])
        state[:carry] = grown


def _through(mask: int, operands: list[int]) -> int:
    """A mask over parameters as a mask in terms of their operands."""
    return reduce(or_, (g for i, g in enumerate(operands) if mask >> i & 1), 0)


def _joined(mask: Mask) -> int:
    return reduce(or_, map(_joined, mask), 0) if isinstance(mask, tuple) else mask


def _parts(mask: Mask, count: int) -> tuple[Mask, ...]:
    return mask if isinstance(mask, tuple) else (mask,) * count


def _chosen(masks: list[int], seeds: Collection[int]) -> list[int]:
    return [masks[i] for i in seeds]
