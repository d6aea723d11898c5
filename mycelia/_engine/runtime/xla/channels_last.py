"""Channels-last lowering: images stay channels-last (NHWC) between operators.

In graphs, images are (batch, channels, *spatial). On CPU, operators over many channels are fastest
with channels-last images, so such an operator accepts and returns a `ChannelsLastImage`.
Layout-agnostic operators (element-wise ones, reductions, concatenations) preserve it; any other
operator receives a plain array, which costs a transpose.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from mycelia._engine.core.shape import normalize_axes, normalize_axis
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.operators.families import Reduction
from mycelia._engine.operators.operator import Op
from mycelia.ops.shapes.concat import Concat


@dataclass(frozen=True)
class ChannelsLastImage:
    """A channels-last image, whose channels are the second axis in the graph."""

    array: Any

    @cached_property
    def plain(self) -> Any:
        return jnp.moveaxis(self.array, -1, 1)


@dataclass
class LayoutLowering:
    """Lowers operators, and counts the chosen layouts and kernels."""

    kept: int = 0  # operators that ran channels-last
    moved: set[int] = field(default_factory=set)  # images that were transposed, by identity
    forms: Counter[str] = field(default_factory=Counter)  # chosen kernels of operators

    def apply(self, op: Primitive, args: list[Any]) -> Any:
        """Apply an operator to arrays, some of which may be channels-last."""
        rank = _rank_of_last(args)
        if isinstance(op, Op):
            if rank is None and op.prefers_last(*args):
                rank = args[0].ndim
            result = None if rank is None else self._apply_last(op, args, rank)
            if result is not None:
                self.kept += 1
                return result
        return self._lower(op, self.plain(args))

    def _lower(self, op: Primitive, args: list[Any]) -> Any:
        if isinstance(op, Op) and (form := op.form(*args)):
            self.forms[f"{op.name} as {form}"] += 1
        return op.lower(*args)

    def plain(self, value: Any) -> Any:
        """Convert a value, with all items, to the axes of the graph."""
        if isinstance(value, ChannelsLastImage):
            self.moved.add(id(value))
            return value.plain
        if isinstance(value, (tuple, list)):
            return type(value)([self.plain(v) for v in value])
        return value

    def _apply_last(self, op: Op, args: list[Any], rank: int) -> Any:
        """The channels-last result, or None if the operator does not support it."""
        if op.elementwise:
            return _marked(op.lower(*[self._spread(a, rank) for a in args]), rank)
        if isinstance(op, Reduction):
            return self._reduce(op, *args)
        if isinstance(op, Concat):
            axis = _place(normalize_axis(op.axis, rank, op.name), rank)
            return _marked(op.with_fields(axis=axis).lower(self._spread(args[0], rank)), rank)
        last = op.last()
        if last is None:
            return None
        return _marked(self._lower(last, [self._image(a, rank) for a in args]), rank)

    def _reduce(self, op: Reduction, x: ChannelsLastImage, axis: Any = ()) -> Any:
        rank = x.array.ndim
        axes = normalize_axes(axis, rank, op.name)
        found = op.lower(x.array, tuple([_place(a, rank) for a in axes]))
        if op.keep_dims:
            return ChannelsLastImage(found)
        left = [_place(a, rank) for a in range(rank) if a not in axes]
        order = np.argsort(np.argsort(left))
        return jnp.transpose(found, tuple(order)) if np.any(np.diff(order) != 1) else found

    def _spread(self, value: Any, rank: int) -> Any:
        """Permute the axes of an operand that broadcasts against an image, to match the image."""
        if isinstance(value, (tuple, list)):
            return type(value)([self._spread(v, rank) for v in value])
        if isinstance(value, ChannelsLastImage) or np.ndim(value) == 0:
            return self._image(value, rank)
        missing = (1,) * (rank - value.ndim)
        return jnp.moveaxis(jnp.reshape(value, (*missing, *value.shape)), 1, -1)

    def _image(self, value: Any, rank: int) -> Any:
        """Convert an argument, or a static shape, to channels-last."""
        if isinstance(value, ChannelsLastImage):
            return value.array
        if isinstance(value, tuple) and len(value) == rank and isinstance(value[0], int):
            return (value[0], *value[2:], value[1])
        if getattr(value, "ndim", 0) == rank:
            self.moved.add(id(value))
            return jnp.moveaxis(value, 1, -1)
        return value


def _place(axis: int, rank: int) -> int:
    """The channels-last index of an axis of the graph."""
    return axis if axis == 0 else rank - 1 if axis == 1 else axis - 1


def _rank_of_last(args: Any) -> int | None:
    for arg in args:
        if isinstance(arg, ChannelsLastImage):
            return arg.array.ndim
        if isinstance(arg, tuple) and (found := _rank_of_last(arg)) is not None:
            return found
    return None


def _marked(result: Any, rank: int) -> Any:
    """Mark the items of a result that have this rank as channels-last images."""
    if isinstance(result, tuple):
        return tuple([_marked(r, rank) for r in result])
    return ChannelsLastImage(result) if getattr(result, "ndim", 0) == rank else result
