"""Automatic partitioning: stages that minimize the time of the slowest one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from mycelia._engine.compiler.passes.memory_estimate import type_bytes
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.control_flow import TUPLE, Item, Scan, graphs_of, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.operators.axes import axes_of
from mycelia._engine.operators.operator import Op
from mycelia._engine.parallel.pipeline.partition import (
    Places,
    StagedGraph,
    assign_remaining_nodes,
    copied,
    needing,
)

Cost = Callable[[Apply], float]  # FLOPs of a node

BYTE = 16.0  # FLOPs per device in the time of transferring one byte


def stages_by_cost(
    graph: Graph,
    data: Collection[int],
    weights: Collection[int],
    count: int,
    cost: Cost | None = None,
    byte: float = BYTE,
) -> StagedGraph:
    """Partition a network into `count` consecutive stages that minimize the slowest stage.

    `data` and `weights` are parameter indices. Only nodes that depend on both are partitioned, in
    network order; the rest follows. Each byte that crosses a stage boundary costs `byte` FLOPs in
    both adjacent stages.
    """
    plain = copied(graph)
    nodes = [n for n in ordered(plain) if isinstance(n, Apply)]
    parameters = plain.parameters
    touched = needing(nodes, {parameters[i] for i in data})
    anchored = needing(nodes, {parameters[i] for i in weights}) & touched
    chain = [n for n in nodes if n in anchored and n is not plain.output]
    heads = [n for n in chain if not _follows(n)]
    if len(heads) < count:
        raise problem(
            ValueError,
            "the network has fewer operators than pipeline stages",
            got=f"{len(heads)} operators for {count} stages",
        )
    place: dict[GraphNode, int] = {node: i for i, node in enumerate(heads)}
    for node in chain:
        if node not in place and type(primitive_of(node)) is Item:
            place[node] = place[node.args[0]]
    costs = _with_the_rest(nodes, touched, place, cost or flops)
    starts = balanced(costs, byte * _crossing_bytes(nodes, place), count)
    places: Places = {}
    for made, position in place.items():
        places[made] = int(np.searchsorted(starts, position, side="right")) - 1
    assign_remaining_nodes(nodes, touched - set(parameters), places)
    return StagedGraph(plain, places)


def balanced(costs: np.ndarray, crossing: np.ndarray, count: int) -> list[int]:
    """The starts of `count` consecutive runs of positions with the least maximum cost.

    The cost of a run is the cost of its positions plus the crossing costs at both ends;
    `crossing[i]` is for a split before position i. Ties go to the split with least crossing cost.
    """
    size = len(costs)
    sums = np.concatenate([[0.0], np.cumsum(costs)])
    ends = np.concatenate([crossing, [0.0]])
    ends[0] = 0.0
    scale = 1e-9 / max(ends.sum(), 1.0) * max(sums[-1], 1.0)
    best = np.full(size + 1, np.inf)
    best[0] = 0.0
    choices = []
    for number in range(count):
        new, chosen = np.full(size + 1, np.inf), np.zeros(size + 1, dtype=np.int64)
        lasts = [size] if number == count - 1 else range(number + 1, size - (count - number) + 2)
        for last in lasts:
            starts = np.arange(number, last)
            own = sums[last] - sums[starts] + ends[starts] + ends[last]
            found = np.maximum(best[starts], own) + scale * ends[starts]
            place = int(np.argmin(found))
            new[last], chosen[last] = found[place], starts[place]
        best = new
        choices.append(chosen)
    starts_found, last = [], size
    for chosen in reversed(choices):
        last = int(chosen[last])
        starts_found.append(last)
    return starts_found[::-1]


def _follows(node: Apply) -> bool:
    op = primitive_of(node)
    return op is TUPLE or type(op) is Item


def _crossing_bytes(nodes: Sequence[Apply], place: dict[GraphNode, int]) -> np.ndarray:
    """For a split before each position, the bytes produced before it and used after it."""
    last: dict[GraphNode, int] = {}
    count = max(place.values()) + 1

    def used(node: GraphNode, position: int) -> None:
        if node in place:
            last[node] = max(last.get(node, 0), position)
        elif isinstance(node, Apply) and primitive_of(node) is TUPLE:
            for arg in node.args:
                used(arg, position)

    for node in nodes:
        if node in place and type(primitive_of(node)) is not Item:
            for arg in node.args:
                used(arg, place[node])
    changes = np.zeros(count + 1)
    for made, position in last.items():
        changes[place[made] + 1] += type_bytes(made.type)
        changes[position + 1 if position + 1 <= count else count] -= type_bytes(made.type)
    return np.cumsum(changes)[:count]


def _with_the_rest(
    nodes: Sequence[Apply], touched: Collection[GraphNode], place: dict[GraphNode, int], cost: Cost
) -> np.ndarray:
    """The cost of each position, including the preparation of its data."""
    first: dict[GraphNode, int] = {}
    costs = np.zeros(max(place.values()) + 1)
    for node in reversed(nodes):
        position = place.get(node, first.get(node))
        if position is None:
            continue
        if not _follows(node):
            costs[position] += cost(node)
        for arg in node.args:
            if arg not in place and arg in touched:
                first[arg] = min(first.get(arg, position), position)
    return costs


# ---- node costs ---------------------------------------------------------------------------


def flops(node: Apply) -> float:
    """The approximate FLOPs of a node."""
    op = primitive_of(node)
    inner = graphs_of(node)
    if inner:
        times = op.length if type(op) is Scan else 1
        return times * sum(flops(n) for g in inner for n in ordered(g) if isinstance(n, Apply))
    if not isinstance(op, Op):
        return 0.0
    return axes_of(op, tuple(map(_argument, node.args))).flops


def _argument(node: GraphNode) -> Any:
    """The type of an argument, or its value if it is a constant."""
    return node.value if isinstance(node, GraphConstant) and node.type is None else node.type
