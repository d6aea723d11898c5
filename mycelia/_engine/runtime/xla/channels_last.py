"""Layouts while a graph is lowered: images keep their channels last as long as they can.

In graphs, images are (batch, channels, *spatial). On CPU, operators over many channels are fastest
with the channels innermost, so such an operator takes its images that way and gives its result as
a `ChannelsLastImage`. Operators that do not care (elementwise ones, reductions, concatenations)
pass it on; the first that does care gets a plain array, which costs a transpose.
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
    """An image with its channels last, where the graph has them second."""

    array: Any

    @cached_property
    def plain(self) -> Any:
        return jnp.moveaxis(self.array, -1, 1)


@dataclass
class LayoutLowering:
    """Lowers operators, and counts what became of their layouts."""

    kept: int = 0  # operators that ran with the channels last
    moved: set[int] = field(default_factory=set)  # images that were transposed, by identity
    forms: Counter[str] = field(default_factory=Counter)  # of operators, as they were chosen

    def apply(self, op: Primitive, args: list[Any]) -> Any:
        """What an operator gives for arrays, some of them perhaps with the channels last."""
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
        """A value, and all its parts, in the axes of the graph."""
        if isinstance(value, ChannelsLastImage):
            self.moved.add(id(value))
            return value.plain
        if isinstance(value, (tuple, list)):
            return type(value)([self.plain(v) for v in value])
        return value

    def _apply_last(self, op: Op, args: list[Any], rank: int) -> Any:
        """The result with the channels last, or None if the operator cannot."""
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
        """An operand that broadcasts against an image, with axes like the image's."""
        if isinstance(value, (tuple, list)):
            return type(value)([self._spread(v, rank) for v in value])
        if isinstance(value, ChannelsLastImage) or np.ndim(value) == 0:
            return self._image(value, rank)
        missing = (1,) * (rank - value.ndim)
        return jnp.moveaxis(jnp.reshape(value, (*missing, *value.shape)), 1, -1)

    def _image(self, value: Any, rank: int) -> Any:
        """An argument as the form with the channels last takes it; also static shapes."""
        if isinstance(value, ChannelsLastImage):
            return value.array
        if isinstance(value, tuple) and len(value) == rank and isinstance(value[0], int):
            return (value[0], *value[2:], value[1])
        if getattr(value, "ndim", 0) == rank:
            self.moved.add(id(value))
            return jnp.moveaxis(value, 1, -1)
        return value


def _place(axis: int, rank: int) -> int:
    """Where an axis of the graph is when the channels are last."""
    return axis if axis == 0 else rank - 1 if axis == 1 else axis - 1


def _rank_of_last(args: Any) -> int | None:
    for arg in args:
        if isinstance(arg, ChannelsLastImage):
            return arg.array.ndim
        if isinstance(arg, tuple) and (found := _rank_of_last(arg)) is not None:
            return found
    return None


def _marked(result: Any, rank: int) -> Any:
    """A result whose parts of this rank are images with the channels last."""
    if isinstance(result, tuple):
        return tuple([_marked(r, rank) for r in result])
    return ChannelsLastImage(result) if getattr(result, "ndim", 0) == rank else result
