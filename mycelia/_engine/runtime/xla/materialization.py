"""Materialization: values that are written to memory once instead of being recomputed by readers.

XLA on CPU fuses an element-wise value into every loop that reads it, so a value with several
readers is computed several times, and so are its inputs: a residual network recomputes chains of
blocks. XLA considers a division too expensive to repeat, so a value divided by a one that is only
known at run time is computed once. (x / 1 is x, for every x.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import jax.numpy as jnp

from mycelia._engine.core.shape import size
from mycelia._engine.ir.control_flow import Item, primitive_of
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.device import on_cpu
from mycelia._engine.operators.operator import Op
from mycelia._engine.runtime.xla.channels_last import ChannelsLastImage
from mycelia.ops.shapes.reshape import Reshape

_KEPT = ("float32", "float64")
_LEAST = 1 << 16  # elements; smaller values stay in the processor's caches


@cache
def runtime_one() -> Any:
    """The number one on the device, the last argument of programs."""
    return jnp.ones((), jnp.float32)


def values_to_materialize(nodes: Iterable[GraphNode]) -> set[GraphNode]:
    """The nodes of a graph that have several readers and that XLA would fuse into loops."""
    if not on_cpu():
        return set()
    nodes = list(nodes)
    uses = Counter[GraphNode]()
    for node in reversed(nodes):
        if isinstance(node, Apply):
            op = primitive_of(node)
            readings = uses[node] if isinstance(op, Reshape) else _readings(op)
            uses.update(dict.fromkeys(set(node.args), readings))
    return {node for node in nodes if uses[node] > 1 and _is_loop(node) and _is_large(node.type)}


def materialized(value: Any, by: Any) -> Any:
    """Make XLA compute `value` once; `by` is the runtime one of the program."""
    if isinstance(value, ChannelsLastImage):
        return ChannelsLastImage(materialized(value.array, by))
    return value / jnp.asarray(by, value.dtype)


def delayed_until(
    values: Sequence[Any], after: Sequence[Any], by: Any, *, once: bool = False
) -> tuple[Any, ...]:
    """Delay `values` until `after` is computed.

    XLA removes its optimization barriers on CPU. So the values are multiplied by a number that is
    one, but that XLA must assume to depend on `after`. Without `once`, each reader multiplies
    separately, and the values stay live next to an overwritten one; with `once`, all readers share
    one product, which replaces the value.
    """
    firsts = [a[(0,) * a.ndim].astype(jnp.float32) for a in _arrays(after) if a.size]
    unknown = jnp.where(by == 1, by, sum(firsts))
    floats = [_is_float(v) for v in values]
    found = [_times(v, unknown) if f else v for v, f in zip(values, floats, strict=True)]
    return tuple(
        [materialized(v, by) if f and once else v for v, f in zip(found, floats, strict=True)]
    )


def _times(value: Any, factor: Any) -> Any:
    if isinstance(value, ChannelsLastImage):
        return ChannelsLastImage(_times(value.array, factor))
    return value * factor.astype(value.dtype)


def _arrays(value: Any) -> list[Any]:
    """All arrays of nested tuples, in any layout."""
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in _arrays(v)]
    return [value.array if isinstance(value, ChannelsLastImage) else jnp.asarray(value)]


def _is_float(value: Any) -> bool:
    array = value.array if isinstance(value, ChannelsLastImage) else value
    return jnp.issubdtype(array.dtype, jnp.floating)


def _readings(op: Any) -> int:
    return op.readings if isinstance(op, Op) else 1


def _is_loop(node: GraphNode) -> bool:
    op = primitive_of(node)
    if type(op) is Item and op.index == 0:
        assert isinstance(node, Apply)
        inner = primitive_of(node.args[0])
        return isinstance(inner, Op) and inner.ends_elementwise
    return isinstance(op, Op) and (op.elementwise or op.ends_elementwise)


def _is_large(type_: Any) -> bool:
    if not isinstance(type_, TensorType) or type_.dtype.name not in _KEPT:
        return False
    return size(type_.shape) >= _LEAST
