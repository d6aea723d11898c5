"""Value range analysis: proves that indices are in range, so that they need no check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.core.shape import size
from mycelia._engine.ir.control_flow import Item, primitive_of, tuple_elements
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia.ops.elementwise.arithmetic import Add, Maximum, Minimum, Mul, Sub
from mycelia.ops.elementwise.lerp import ClampTensor
from mycelia.ops.elementwise.remainder import FloorMod
from mycelia.ops.elementwise.where import Select
from mycelia.ops.indexing.gather import Gather, GatherD, GatherNd
from mycelia.ops.indexing.sort import Sort, TopK
from mycelia.ops.indexing.subscript import Subscript
from mycelia.ops.random.sampling import RandpermV2
from mycelia.ops.reduction.argmax import Argmax, ArgMaxWithValue, Argmin, ArgMinWithValue
from mycelia.ops.shapes.concat import Concat, Stack
from mycelia.ops.shapes.ranges import Range
from mycelia.ops.shapes.reshape import (
    BroadcastTo,
    Cast,
    ExpandDims,
    Flatten,
    Identity,
    Reshape,
    Squeeze,
    StopGradient,
    Transpose,
)

Interval = tuple[int, int]  # both ends are inclusive
_LARGEST = 1 << 22  # elements of a constant that is inspected


def is_proven(bound: IndexBound, node: GraphNode) -> bool:
    """Whether all possible values of a node are within a bound."""
    found = interval(node)
    if found is None or isinstance(bound.high, tuple):
        return isinstance(node, GraphConstant) and _holds(bound, node)
    low, high = found
    return (bound.low is None or low >= bound.low) and (bound.high is None or high < bound.high)


def _holds(bound: IndexBound, node: GraphConstant) -> bool:
    numbers = np.asarray(node.value)
    return numbers.dtype.kind in "iu" and not bound.outside(numbers.astype(np.int64)).any()


def interval(node: GraphNode, depth: int = 16) -> Interval | None:
    """The smallest and the largest possible value of a node; None if unknown."""
    if isinstance(node, GraphConstant):
        return _of_array(node.value)
    if not isinstance(node, Apply) or not depth:
        return None
    op = primitive_of(node)
    if type(op) is Item:
        whole = node.args[0]
        return _place_along(whole) if (type(primitive_of(whole)), op.index) in _POSITIONS else None
    rule = _RULES.get(type(op))
    found = None if rule is None else rule(node, lambda inner: interval(inner, depth - 1))
    return found if found is not None and _fits(found, node.type) else None


def _of_array(value: Any) -> Interval | None:
    numbers = np.asarray(value)
    if numbers.dtype.kind not in "iub" or not 0 < numbers.size <= _LARGEST:
        return None
    return int(numbers.min()), int(numbers.max())


def _fits(found: Interval, type_: Any) -> bool:
    """Whether an integer type can represent an interval without overflow."""
    if not isinstance(type_, TensorType) or not type_.dtype.is_integer:
        return False
    limits = np.iinfo(type_.dtype.numpy)
    return bool(limits.min <= found[0] and found[1] <= limits.max)


Of = Callable[[GraphNode], Interval | None]


def _same(node: Apply, of: Of) -> Interval | None:
    return of(node.args[0])


def _cast(node: Apply, of: Of) -> Interval | None:
    given = node.args[0].type
    is_whole = isinstance(given, TensorType) and (given.dtype.is_integer or given.dtype.is_bool)
    return of(node.args[0]) if is_whole else None


def _joined(parts: list[Interval | None]) -> Interval | None:
    if not parts or None in parts:
        return None
    known: Any = parts
    return min(low for low, _ in known), max(high for _, high in known)


def _together(node: Apply, of: Of) -> Interval | None:
    return _joined([of(part) for part in tuple_elements(node.args[0])])


def _select(node: Apply, of: Of) -> Interval | None:
    return _joined([of(node.args[1]), of(node.args[2])])


def _combined(
    corners: Callable[[int, int], int],
) -> Callable[[Apply, Of], Interval | None]:
    """For functions that are monotonic in each operand: the extrema are at the corners."""

    def rule(node: Apply, of: Of) -> Interval | None:
        first, second = of(node.args[0]), of(node.args[1])
        if first is None or second is None:
            return None
        found = [corners(a, b) for a in first for b in second]
        return min(found), max(found)

    return rule


def _clamped(node: Apply, of: Of) -> Interval | None:
    """Clamping bounds unknown values, too."""
    limits = np.iinfo(node.type.dtype.numpy) if node.type.dtype.is_integer else None
    if limits is None:
        return None
    found = of(node.args[0]) or (int(limits.min), int(limits.max))
    for place, closer in ((1, max), (2, min)):
        limit = of(node.args[place]) if node.args[place].type is not None else None
        if limit is not None:
            found = (closer(found[0], limit[0]), closer(found[1], limit[1]))
    return found


def _bounded(closer: Callable[[int, int], int]) -> Callable[[Apply, Of], Interval | None]:
    """Minimum or Maximum of an unknown and a known interval."""

    def rule(node: Apply, of: Of) -> Interval | None:
        if not node.type.dtype.is_integer:
            return None
        limits = np.iinfo(node.type.dtype.numpy)
        whole = int(limits.min), int(limits.max)
        first, second = of(node.args[0]) or whole, of(node.args[1]) or whole
        return closer(first[0], second[0]), closer(first[1], second[1])

    return rule


def _remainder(node: Apply, of: Of) -> Interval | None:
    divisor = of(node.args[1])
    return (0, divisor[1] - 1) if divisor is not None and divisor[0] > 0 else None


def _range(node: Apply, of: Of) -> Interval | None:
    start, limit, delta = (a.value for a in node.args[:3])  # type: ignore[attr-defined]
    if any(type(n) is not int for n in (start, limit, delta)):
        return None
    numbers = range(start, limit, delta)
    return (min(numbers[0], numbers[-1]), max(numbers[0], numbers[-1])) if numbers else None


def _permutation(node: Apply, of: Of) -> Interval | None:
    return 0, max(size(node.type.shape) - 1, 0)


def _chosen(node: Apply, of: Of) -> Interval | None:
    return _place_along(node)


def _place_along(node: Any) -> Interval | None:
    """Indices of elements along the axis of an operator."""
    shape = node.args[0].type.shape
    axis = getattr(primitive_of(node), "axis", -1)
    return (0, max(shape[axis] - 1, 0)) if shape else (0, 0)


_RULES: dict[type, Callable[[Apply, Of], Interval | None]] = {
    **dict.fromkeys((Reshape, Transpose, BroadcastTo, ExpandDims, Squeeze, Flatten), _same),
    **dict.fromkeys((Identity, StopGradient, Gather, GatherD, GatherNd, Subscript), _same),
    Cast: _cast,
    **dict.fromkeys((Concat, Stack), _together),
    Select: _select,
    Add: _combined(lambda a, b: a + b),
    Sub: _combined(lambda a, b: a - b),
    Mul: _combined(lambda a, b: a * b),
    Maximum: _bounded(max),
    Minimum: _bounded(min),
    ClampTensor: _clamped,
    FloorMod: _remainder,
    Range: _range,
    RandpermV2: _permutation,
    **dict.fromkeys((Argmax, Argmin), _chosen),
}
_POSITIONS = {(ArgMaxWithValue, 0), (ArgMinWithValue, 0), (Sort, 1), (TopK, 1)}  # results that are
