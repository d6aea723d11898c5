"""One operator computed for a window of its result: what it needs of its arguments for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder
from mycelia._engine.compiler.frontend.type_inference import result_type
from mycelia._engine.compiler.passes.patterns import is_of
from mycelia._engine.compiler.passes.shapes import RESHAPES
from mycelia._engine.compiler.slice_pushdown.window import AxisWindow, reshaped
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.axes import Axis, axes_of
from mycelia._engine.operators.operator import REGISTRY, Op
from mycelia.ops.random.dropout import Dropout, Masked
from mycelia.ops.shapes.creation import Zeros
from mycelia.ops.shapes.reshape import Identity

Wanted = dict[int, AxisWindow]  # of the results of an operator, by their numbers


@dataclass(frozen=True)
class WindowedOperator:
    """An operator for a window: the windows of its arguments, and how it is written with them."""

    windows: dict[int, AxisWindow]  # by the numbers of the arguments; the others are needed whole
    write: Callable[[GraphBuilder, Sequence[GraphNode]], GraphNode]
    spared: float  # operations


def windowed_operator_for(node: Apply, wanted: Wanted) -> WindowedOperator | None:
    """How `node` gives the windows that are wanted of its results, if it can give them alone."""
    if is_of(node, *RESHAPES):
        return _reshape(node, wanted[0])
    if is_of(node, Dropout):
        return _dropout(node, wanted)
    return _apart(node, wanted) if _is_tested(primitive_of(node)) else None


def _reshape(node: Apply, wanted: AxisWindow) -> WindowedOperator | None:
    window = wanted.before_reshape(node.args[0].type.shape, node.type.shape)
    if window is None:
        return None
    shape = wanted.shape(node.type.shape)
    return WindowedOperator(
        {0: window}, lambda builder, args: reshaped(builder, args[0], shape), 0.0
    )


def _dropout(node: Apply, wanted: Wanted) -> WindowedOperator | None:
    """The coins are those of the whole tensor, so that each number meets the same one as before."""
    if set(wanted) != {0}:
        return None
    window, whole = wanted[0], node.type[1]

    def write(builder: GraphBuilder, args: Sequence[GraphNode]) -> GraphNode:
        zeros = builder.apply(
            Zeros.of(), (GraphConstant(whole.shape), GraphConstant(whole.dtype)), whole
        )
        drawn = builder.apply(primitive_of(node), (zeros, *args[1:]), node.type, node.span)
        mask = window.cut(builder, builder.item(drawn, 1))
        op = Masked.of(primitive_of(node).keep_prob)
        kept = builder.apply(op, (args[0], mask), args[0].type, node.span)
        return builder.tuple((kept, mask))

    return WindowedOperator({0: window}, write, 0.0)


def _is_tested(op: Any) -> bool:
    """Whether an operator is one of those whose axes and gradients are tested by its examples.

    Not Identity: gradients are taken with respect to applications of it.
    """
    if not isinstance(op, Op) or isinstance(op, Identity) or op.marks:
        return False
    if op.draws or op.writes or op.host_only:
        return False
    return bool(op.examples) and REGISTRY.get(type(op).__name__) is type(op)


def _apart(node: Apply, wanted: Wanted) -> WindowedOperator | None:
    """An operator along an axis whose positions have nothing to do with each other."""
    results = node.type if isinstance(node.type, tuple) else (node.type,)
    if not all(isinstance(result, TensorType) for result in results):
        return None
    if any(isinstance(arg.type, tuple) for arg in node.args):
        return None
    for axis in axes_of(primitive_of(node), _arguments(node)).axes:
        if axis.apart and _fits(axis, wanted):
            return _along(axis, node, next(iter(wanted.values())))
    return None


def _along(axis: Axis, node: Apply, window: AxisWindow) -> WindowedOperator | None:
    """The operator for the positions in the window."""
    op, places = primitive_of(node), [i for i, arg in enumerate(node.args) if arg.type is not None]
    windows = {places[leaf]: window.at(place) for leaf, place in axis.inputs}
    type_ = _type_for(op, _arguments(node), windows)
    if type_ != _narrowed(node.type, dict(axis.outputs), window):
        return None
    return WindowedOperator(
        windows,
        lambda builder, args: builder.apply(op, tuple(args), type_, node.span),
        axis.flops * (1 - window.share),
    )


def _arguments(node: Apply) -> tuple[Any, ...]:
    """The types of the tensors given, and static values as they are."""
    return tuple(
        [a.value if isinstance(a, GraphConstant) and a.type is None else a.type for a in node.args]
    )


def _fits(axis: Axis, wanted: Wanted) -> bool:
    """Whether the windows are equal positions of this axis."""
    first = next(iter(wanted.values()))
    if axis.divides != first.before * first.size * first.after or not axis.inputs:
        return False
    return all(
        (number, window.axis) in axis.outputs and window.at(0) == first.at(0)
        for number, window in wanted.items()
    )


def _type_for(op: Op, full: tuple[Any, ...], windows: dict[int, AxisWindow]) -> Any:
    """What the operator says of narrower arguments; None if a field of it fits the whole only."""
    given = tuple([windows[i].type(a) if i in windows else a for i, a in enumerate(full)])
    data, static = op.arguments.split(given)
    try:
        return result_type(op, data, static)
    except (TypeError, ValueError):
        return None


def _narrowed(type_: Any, outputs: dict[int, int], window: AxisWindow) -> Any:
    if isinstance(type_, TensorType):
        return window.at(outputs[0]).type(type_)
    return tuple(
        [window.at(outputs[i]).type(t) if i in outputs else t for i, t in enumerate(type_)]
    )
