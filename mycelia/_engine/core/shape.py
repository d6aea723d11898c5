"""Shape arithmetic: broadcasting, axes, sizes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from mycelia._engine.core.errors import ShapeError, problem

Shape = tuple[int, ...]


def broadcast(*shapes: Shape, op: str) -> Shape:
    """The broadcast shape of `shapes` by numpy's rule, or a ValueError that names `op`."""
    rank = max((len(s) for s in shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    return tuple(_meet(sizes, shapes, op) for sizes in zip(*padded, strict=True))


def _meet(sizes: tuple[int, ...], shapes: tuple[Shape, ...], op: str) -> int:
    real = {size for size in sizes if size != 1}
    if len(real) > 1:
        raise problem(
            ValueError,
            f"{op}: the shapes do not broadcast",
            got=" and ".join(str(list(s)) for s in shapes),
            expected="sizes that are equal or 1, counted from the last axis",
            fix="reshape or expand_dims one of them",
        )
    return real.pop() if real else 1


def normalize_axis(axis: Any, rank: int, op: str) -> int:
    """`axis` as an index from 0 to rank-1, or a ValueError that names `op`."""
    try:
        number = operator.index(axis)
    except TypeError:
        raise problem(TypeError, f"{op}: 'axis' must be an int", got=type(axis).__name__) from None
    low, high = (-rank, rank - 1) if rank else (-1, 0)
    if not low <= number <= high:
        raise problem(
            ValueError,
            f"{op}: axis {number} is out of range",
            got=f"axis {number} for a tensor of {rank} dimensions",
            expected=f"an int from {low} to {high}",
        )
    return number + rank if number < 0 else number


def normalize_axes(axes: Any, rank: int, op: str) -> tuple[int, ...]:
    """`axes` (None or empty: all) as sorted indices from 0, without repeats."""
    if axes is None or (isinstance(axes, Sequence) and len(axes) == 0):
        return tuple(range(rank))
    listed = axes if isinstance(axes, Iterable) else (axes,)
    normalized = [normalize_axis(a, rank, op) for a in listed]
    if len(set(normalized)) != len(normalized):
        raise problem(ShapeError, f"{op}: an axis is repeated", got=str(axes))
    return tuple(sorted(normalized))


def as_shape(value: Any, op: str) -> Shape:
    """A shape from an int or a sequence of ints."""
    try:
        return (operator.index(value),)
    except TypeError:
        pass
    try:
        return tuple(operator.index(v) for v in value)
    except TypeError:
        raise problem(
            TypeError,
            f"{op}: a shape must be an int or a tuple of ints",
            got=f"{value!r} of type {type(value).__name__}",
        ) from None


def size(shape: Shape) -> int:
    """The number of elements of a tensor of `shape`."""
    return prod(shape)
