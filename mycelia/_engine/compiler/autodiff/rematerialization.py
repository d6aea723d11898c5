"""Rematerialization: recompute parts of the forward pass instead of storing their residuals.

The forward pass is split where only a single value is alive. The nodes between two such points
depend on that value alone, so they can be computed again in the backward pass. The plan is the
cheapest one that is expected to fit in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

from mycelia._engine.compiler.autodiff.reverse_mode import nodes_between
from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.passes.memory_estimate import (
    Readers,
    readers_of,
    type_bytes,
    written_bytes,
)
from mycelia._engine.core.shape import size
from mycelia._engine.ir.clone import copy_nodes
from mycelia._engine.ir.control_flow import RECOMPUTE, TUPLE, primitive_of
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.operator import Op

_PASS_COST = 60  # moving one element through memory, in multiplications
_SIZES = [0.8**k for k in range(1, 25)]  # segment sizes, as fractions of the total


@dataclass(frozen=True, eq=False)
class RecomputeSegment:
    """The nodes between two split points, inputs first; the last one is the value that crosses."""

    nodes: tuple[Apply, ...]
    inside: int  # bytes that the backward pass needs, besides the crossing value
    across: int  # bytes of the crossing value
    cost: float  # of computing it again

    @cached_property
    def worth(self) -> float:
        return self.inside / max(self.cost, 1)


def rematerialize(
    builder: GraphBuilder, outputs: Sequence[GraphNode], targets: set[GraphNode], allowed: int
) -> None:
    """Recompute parts of what `outputs` needs, to store at most `allowed` bytes of residuals.

    If no plan is expected to fit, the one that needs the least memory is used.
    """
    for segment in _plan(_finest_segments(outputs, targets), allowed):
        _enclose(builder, segment)


def _finest_segments(
    outputs: Sequence[GraphNode], targets: set[GraphNode]
) -> list[RecomputeSegment]:
    """The forward pass split at every possible point."""
    order = [n for n in nodes_between(list(outputs), targets) if isinstance(n, Apply)]
    order = [n for n in order if n not in targets]
    readers = readers_of(order)
    last = {used: index for index, node in enumerate(order) for used in node.args}
    segments: list[RecomputeSegment] = []
    alive: set[GraphNode] = set()
    nodes: list[Apply] = []
    for index, node in enumerate(order):
        nodes.append(node)
        alive.add(node)
        alive = {n for n in alive if last.get(n, -1) > index}
        if alive == {node} and written_bytes(node, readers) and isinstance(node.type, TensorType):
            segments.append(_segment(nodes, readers))
            nodes = []
    return [*segments, _segment(nodes, readers)] if nodes else segments


def _segment(nodes: Sequence[Apply], readers: Readers) -> RecomputeSegment:
    *inner, last = nodes
    inside = sum(written_bytes(n, readers) for n in inner)
    return RecomputeSegment(tuple(nodes), inside, type_bytes(last.type), sum(map(_cost, nodes)))


def _cost(node: Apply) -> float:
    """The approximate cost of a node, in multiplications."""
    op = primitive_of(node)
    if not isinstance(op, Op) or not isinstance(node.type, TensorType | tuple):
        return 0
    results = type_bytes(node.type) / 4
    sizes = [size(a.type.shape) for a in node.args if isinstance(a.type, TensorType)]
    if op.elementwise or len(sizes) < 2 or min(sizes[:2]) * results == 0:
        return _PASS_COST * results
    length = sqrt(sizes[0] * sizes[1] / results)  # of the sums, if it is a product of matrices
    return (_PASS_COST + length) * results


def _plan(pieces: list[RecomputeSegment], allowed: int) -> list[RecomputeSegment]:
    """The segments to recompute."""
    if not pieces or _needed(pieces, []) <= allowed:
        return []
    total = sum(p.inside + p.across for p in pieces)
    plans = [_chosen(_merged(pieces, total * fraction), allowed) for fraction in _SIZES]
    fitting = [p for p in plans if p.bytes <= allowed]
    if fitting:
        return min(fitting, key=lambda p: p.cost).again
    return min(plans, key=lambda p: p.bytes).again


@dataclass(frozen=True)
class _RecomputePlan:
    again: list[RecomputeSegment]
    bytes: int
    cost: float


def _merged(pieces: list[RecomputeSegment], least: float) -> list[RecomputeSegment]:
    """Merge neighbors into segments of at least `least` bytes, except the last one."""
    merged: list[RecomputeSegment] = []
    group: list[RecomputeSegment] = []
    for piece in pieces:
        group.append(piece)
        if sum(p.inside + p.across for p in group) >= least or piece is pieces[-1]:
            nodes = tuple([n for p in group for n in p.nodes])
            across = group[-1].across
            inside = sum(p.inside + p.across for p in group) - across
            merged.append(RecomputeSegment(nodes, inside, across, sum(p.cost for p in group)))
            group = []
    return merged


def _chosen(segments: list[RecomputeSegment], allowed: int) -> _RecomputePlan:
    """The most worthwhile segments, until the rest fits. The backward pass starts with the last."""
    again: list[RecomputeSegment] = []
    needed = _needed(segments, again)
    for segment in sorted(segments[:-1], key=lambda s: -s.worth):
        if needed <= allowed:
            break
        again.append(segment)
        needed = _needed(segments, again)
    return _RecomputePlan(again, needed, sum(s.cost for s in again))


def _needed(segments: Sequence[RecomputeSegment], again: list[RecomputeSegment]) -> int:
    """The peak memory of a plan.

    When the backward pass reaches a segment, only the residuals of earlier ones are still stored.
    It needs its own values, and as many bytes of gradients.
    """
    remembered = most = 0
    for segment in segments:
        most = max(most, remembered + 2 * segment.inside + segment.across)
        remembered += segment.across + (0 if segment in again else segment.inside)
    return max(most, remembered)


def _enclose(builder: GraphBuilder, segment: RecomputeSegment) -> None:
    """Move a segment into a separate graph that the backward pass runs again."""
    result, inside = segment.nodes[-1], set(segment.nodes)
    inner = GraphBuilder("segment", span=result.span)
    operands: dict[GraphNode, GraphNode] = {}
    waiting = [a for node in segment.nodes for a in node.args]
    for node in waiting:
        if primitive_of(node) is TUPLE and node not in inside:
            assert isinstance(node, Apply)
            waiting += node.args
        elif not isinstance(node, GraphConstant) and node not in inside and node not in operands:
            operands[node] = inner.parameter("outer", node.type)
    copied = copy_nodes([result], inner.graph, dict(operands))
    inner.graph.output = inner.tuple(tuple(copied))
    again = builder.apply(RECOMPUTE, (inner.graph, *operands), (result.type,), result.span)
    builder.replaced[result] = builder.item(again, 0)
