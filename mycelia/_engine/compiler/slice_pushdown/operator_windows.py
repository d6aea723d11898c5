"""Computing an operator for a window of its result: the windows of its arguments."""

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

Wanted = dict[int, AxisWindow]  # of the results of an operator, by index


@dataclass(frozen=True)
class WindowedOperator:
    """An operator restricted to a window: the windows of its arguments, and how to apply it."""

    windows: dict[int, AxisWindow]  # by argument index; the others are needed completely
    write: Callable[[GraphBuilder, Sequence[GraphNode]], GraphNode]
    spared: float  # operations


def windowed_operator_for(node: Apply, wanted: Wanted) -> WindowedOperator | None:
    """How `node` can compute only the wanted windows of its results, if that is possible."""
    if is_of(node, *RESHAPES):
        return _reshape(node, wanted[0])
    if is_of(node, Dropout):
        return _dropout(node, wanted)
    return _independent(node, wanted) if _is_tested(primitive_of(node)) else None


def _reshape(node: Apply, wanted: AxisWindow) -> WindowedOperator | None:
    window = wanted.before_reshape(node.args[0].type.shape, node.type.shape)
    if window is None:
        return None
    shape = wanted.shape(node.type.shape)
    return WindowedOperator(
        {0: window}, lambda builder, args: reshaped(builder, args[0], shape), 0.0
    )


def _dropout(node: Apply, wanted: Wanted) -> WindowedOperator | None:
    """The random mask is drawn for the whole tensor, so each element keeps its random value."""
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
        masked = builder.apply(op, (args[0], mask), args[0].type, node.span)
        return builder.tuple((masked, mask))

    return WindowedOperator({0: window}, write, 0.0)


def _is_tested(op: Any) -> bool:
    """Whether the operator's examples test its axes and gradients.

    Excludes Identity: gradients are taken with respect to applications of it.
    """
    if not isinstance(op, Op) or isinstance(op, Identity) or op.marks:
        return False
    if op.draws or op.writes or op.host_only:
        return False
    return bool(op.examples) and REGISTRY.get(type(op).__name__) is type(op)


def _independent(node: Apply, wanted: Wanted) -> WindowedOperator | None:
    """An operator along an axis whose positions are independent of each other."""
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
    op, data_arguments = (
        primitive_of(node),
        [i for i, arg in enumerate(node.args) if arg.type is not None],
    )
    windows = {data_arguments[leaf]: window.at(dim) for leaf, dim in axis.inputs}
    type_ = _type_for(op, _arguments(node), windows)
    if type_ != _narrowed(node.type, dict(axis.outputs), window):
        return None
    return WindowedOperator(
        windows,
        lambda builder, args: builder.apply(op, tuple(args), type_, node.span),
        axis.flops * (1 - window.share),
    )


def _arguments(node: Apply) -> tuple[Any, ...]:
    """The types of the tensor arguments, and the values of static ones."""
    return tuple(
        [a.value if isinstance(a, GraphConstant) and a.type is None else a.type for a in node.args]
    )


def _fits(axis: Axis, wanted: Wanted) -> bool:
    """Whether the windows are the same positions along this axis."""
    first = next(iter(wanted.values()))
    if axis.divides != first.before * first.size * first.after or not axis.inputs:
        return False
    return all(
        (number, window.axis) in axis.outputs and window.at(0) == first.at(0)
        for number, window in wanted.items()
    )


def _type_for(op: Op, full: tuple[Any, ...], windows: dict[int, AxisWindow]) -> Any:
    """The result type for narrower arguments; None if a field only fits the whole tensor."""
    narrowed = tuple([windows[i].type(a) if i in windows else a for i, a in enumerate(full)])
    data, static = op.arguments.split(narrowed)
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
