"""Rules for operators that keep elements: identity, cast, reshape, transpose, broadcast."""

from __future__ import annotations

from typing import Any

from mycelia._engine.compiler.passes.patterns import arguments_of, is_of, replacement
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.shape import as_shape, normalize_axis
from mycelia._engine.ir.control_flow import Custom
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.rewrite import on
from mycelia.ops.control.loop_stack import StackRead, StackWrite
from mycelia.ops.indexing.assign import Replacement
from mycelia.ops.shapes.reshape import (
    BroadcastTo,
    Cast,
    ExpandDims,
    Flatten,
    Identity,
    IdentityN,
    Reshape,
    Squeeze,
    StopGradient,
    SumTo,
    Transpose,
)

RESHAPES = (Reshape, ExpandDims, Squeeze, Flatten)


@on(Identity, IdentityN, StopGradient)
def identity(node: Apply) -> GraphNode | None:
    """identity(x) = x, and stop_gradient(x) = x after differentiation"""
    (x,) = node.args
    return x if x.type == node.type else None


@on(Custom, Replacement)
def custom(node: Apply) -> GraphNode | None:
    """custom(*inputs, x) = x and replacement(old, x) = x after differentiation"""
    x = node.args[-1]
    return x if x.type == node.type else None


@on(Cast, *RESHAPES, BroadcastTo, SumTo)
def unchanged(node: Apply) -> GraphNode | None:
    """cast, reshape, broadcast, and sum to the type that x already has = x"""
    x = node.args[0]
    return x if x.type == node.type else None


@on(Cast)
def cast_of_cast(node: Apply) -> GraphNode | None:
    """cast(cast(x, a), b) = cast(x, b), if a represents all values of x's dtype"""
    inner = node.args[0]
    if not is_of(inner, Cast):
        return None
    x = arguments_of(inner)[0]
    if not _holds(inner.type.dtype, x.type.dtype):
        return None
    return replacement(node, Cast.of(), (x, GraphConstant(node.type.dtype)))


@on(*RESHAPES)
def reshape_of_reshape(node: Apply) -> GraphNode | None:
    """reshape(reshape(x, a), b) = reshape(x, b), for all reshaping operators"""
    inner = node.args[0]
    if not is_of(inner, *RESHAPES):
        return None
    return replacement(node, Reshape.of(), (arguments_of(inner)[0], GraphConstant(node.type.shape)))


@on(Transpose)
def transpose_nothing(node: Apply) -> GraphNode | None:
    """transpose(x, (0, 1, ...)) = x"""
    x = node.args[0]
    return x if _order(node) == tuple(range(len(x.type.shape))) else None


@on(Transpose)
def transpose_of_transpose(node: Apply) -> GraphNode | None:
    """transpose(transpose(x, p), q) = transpose(x, p[q])"""
    inner = node.args[0]
    if not is_of(inner, Transpose):
        return None
    assert isinstance(inner, Apply)
    first = _order(inner)
    order = tuple(first[axis] for axis in _order(node))
    return replacement(node, Transpose.of(), (inner.args[0], GraphConstant(order)))


@on(BroadcastTo)
def broadcast_of_broadcast(node: Apply) -> GraphNode | None:
    """broadcast(broadcast(x, a), b) = broadcast(x, b)"""
    inner = node.args[0]
    if not is_of(inner, BroadcastTo):
        return None
    return replacement(node, BroadcastTo.of(node.type.shape), (arguments_of(inner)[0],))


@on(StackRead)
def read_what_was_written(node: Apply) -> GraphNode | None:
    """read(write(stack, i, x), i) = x"""
    stack, index = node.args
    if not is_of(stack, StackWrite):
        return None
    _, write_index, x = arguments_of(stack)
    return x if write_index is index and x.type == node.type else None


def _order(node: Apply) -> tuple[int, ...]:
    x, perm = node.args
    assert isinstance(perm, GraphConstant)
    rank = len(x.type.shape)
    return tuple(normalize_axis(p, rank, "Transpose") for p in as_shape(perm.value, "Transpose"))


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether casting via `wide` preserves every value of `narrow`."""
    if narrow.is_bool or wide is narrow:
        return True
    kinds: tuple[Any, Any] = (narrow.kind, wide.kind)
    if kinds == ("uint", "int"):
        return wide.bits > narrow.bits
    return kinds in (("int", "int"), ("uint", "uint"), ("float", "float")) and (
        wide.bits > narrow.bits
    )


RULES = (
    identity,
    custom,
    unchanged,
    cast_of_cast,
    reshape_of_reshape,
    transpose_nothing,
    transpose_of_transpose,
    broadcast_of_broadcast,
    read_what_was_written,
)
