"""Gradients in little memory: parts of the forward pass are run again instead of remembered.

The forward pass is cut where a single value goes across. What lies between two cuts is computed
from that value alone, so it can be run again when its backward comes. The plan is the cheapest one
that is expected to fit.
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

_PASS_COST = 60  # of moving one number through memory, in multiplications
_SIZES = [0.8**k for k in range(1, 25)]  # of segments, as parts of everything


@dataclass(frozen=True, eq=False)
class RecomputeSegment:
    """Nodes between two cuts, inputs first; the last one is what goes across the second."""

    nodes: tuple[Apply, ...]
    inside: int  # bytes the backward needs, besides what goes across
    across: int
    cost: float  # of running it again

    @cached_property
    def worth(self) -> float:
        return self.inside / max(self.cost, 1)


def rematerialize(
    builder: GraphBuilder, outputs: Sequence[GraphNode], targets: set[GraphNode], allowed: int
) -> None:
    """Replace parts of what `outputs` needs, so that gradients remember `allowed` bytes at most.

    If no plan is expected to fit, the one that needs least is taken.
    """
    for segment in _plan(_pieces(outputs, targets), allowed):
        _enclose(builder, segment)


def _pieces(outputs: Sequence[GraphNode], targets: set[GraphNode]) -> list[RecomputeSegment]:
    """The forward pass cut as finely as it can be."""
    order = [n for n in nodes_between(list(outputs), targets) if isinstance(n, Apply)]
    order = [n for n in order if n not in targets]
    readers = readers_of(order)
    last = {used: place for place, node in enumerate(order) for used in node.args}
    found: list[RecomputeSegment] = []
    alive: set[GraphNode] = set()
    nodes: list[Apply] = []
    for place, node in enumerate(order):
        nodes.append(node)
        alive.add(node)
        alive = {n for n in alive if last.get(n, -1) > place}
        if alive == {node} and written_bytes(node, readers) and isinstance(node.type, TensorType):
            found.append(_segment(nodes, readers))
            nodes = []
    return [*found, _segment(nodes, readers)] if nodes else found


def _segment(nodes: Sequence[Apply], readers: Readers) -> RecomputeSegment:
    *inner, last = nodes
    inside = sum(written_bytes(n, readers) for n in inner)
    return RecomputeSegment(tuple(nodes), inside, type_bytes(last.type), sum(map(_cost, nodes)))


def _cost(node: Apply) -> float:
    """About how many multiplications a node takes."""
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
    """The segments to run again."""
    if not pieces or _needed(pieces, []) <= allowed:
        return []
    total = sum(p.inside + p.across for p in pieces)
    plans = [_chosen(_joined(pieces, total * part), allowed) for part in _SIZES]
    fitting = [p for p in plans if p.bytes <= allowed]
    if fitting:
        return min(fitting, key=lambda p: p.cost).again
    return min(plans, key=lambda p: p.bytes).again


@dataclass(frozen=True)
class _RecomputePlan:
    again: list[RecomputeSegment]
    bytes: int
    cost: float


def _joined(pieces: list[RecomputeSegment], least: float) -> list[RecomputeSegment]:
    """Neighbouring pieces as segments that hold at least so many bytes, all but the last."""
    found: list[RecomputeSegment] = []
    group: list[RecomputeSegment] = []
    for piece in pieces:
        group.append(piece)
        if sum(p.inside + p.across for p in group) >= least or piece is pieces[-1]:
            nodes = tuple([n for p in group for n in p.nodes])
            across = group[-1].across
            inside = sum(p.inside + p.across for p in group) - across
            found.append(RecomputeSegment(nodes, inside, across, sum(p.cost for p in group)))
            group = []
    return found


def _chosen(segments: list[RecomputeSegment], allowed: int) -> _RecomputePlan:
    """The segments most worth it, until the rest fits. The backward begins with the last one."""
    again: list[RecomputeSegment] = []
    needed = _needed(segments, again)
    for segment in sorted(segments[:-1], key=lambda s: -s.worth):
        if needed <= allowed:
            break
        again.append(segment)
        needed = _needed(segments, again)
    return _RecomputePlan(again, needed, sum(s.cost for s in again))


def _needed(segments: Sequence[RecomputeSegment], again: list[RecomputeSegment]) -> int:
    """The most that is held at once.

    When the backward comes to a segment, only what earlier ones remember is left. It needs its own
    values, and gradients of as much.
    """
    remembered = most = 0
    for segment in segments:
        most = max(most, remembered + 2 * segment.inside + segment.across)
        remembered += segment.across + (0 if segment in again else segment.inside)
    return max(most, remembered)


def _enclose(builder: GraphBuilder, segment: RecomputeSegment) -> None:
    """Put a segment into a graph of its own that the backward runs again."""
    result, own = segment.nodes[-1], set(segment.nodes)
    inner = GraphBuilder("segment", span=result.span)
    operands: dict[GraphNode, GraphNode] = {}
    waiting = [a for node in segment.nodes for a in node.args]
    for node in waiting:
        if primitive_of(node) is TUPLE and node not in own:
            assert isinstance(node, Apply)
            waiting += node.args
        elif not isinstance(node, GraphConstant) and node not in own and node not in operands:
            operands[node] = inner.parameter("outer", node.type)
    copied = copy_nodes([result], inner.graph, dict(operands))
    inner.graph.output = inner.tuple(tuple(copied))
    again = builder.apply(RECOMPUTE, (inner.graph, *operands), (result.type,), result.span)
    builder.replaced[result] = builder.item(again, 0)
