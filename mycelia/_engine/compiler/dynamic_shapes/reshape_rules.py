"""The padding rule for reshapes: padding must remain at the ends of axes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from mycelia._engine.compiler.dynamic_shapes.dynamic_axes import (
    Axes,
    DynamicExtent,
    UnprovablePadding,
)
from mycelia._engine.core.shape import Shape


@dataclass(frozen=True)
class _PaddedAxis:
    """An axis: its padded size, and its extent if it is padded."""

    size: int
    extent: DynamicExtent | None


def check_reshape(before: Shape, axes: Axes, after: Shape, result: Axes) -> None:
    """Raise UnprovablePadding unless padding at the ends of axes remains at the ends of axes.

    Both shapes are divided into groups of neighboring axes with the same number of elements. In a
    group with one padded axis, the product of the sizes before it must be equal on both sides: then
    the start of the axis holds the same elements on both sides.
    """
    left, right = _lengths(before, axes), _lengths(after, result)
    while left or right:
        first, second = _group(left, right)
        padded_axes = [
            [i for i, length in enumerate(group) if length.extent] for group in (first, second)
        ]
        if padded_axes == [[], []]:
            continue
        symbols = {length.extent.symbol for length in first + second if length.extent}
        if not len(padded_axes[0]) == len(padded_axes[1]) == len(symbols) == 1:
            raise UnprovablePadding("it joins or splits several dynamic axes")
        leads = [
            prod(length.size for length in group[: positions[0]])
            for group, positions in zip((first, second), padded_axes, strict=True)
        ]
        if leads[0] != leads[1]:
            raise UnprovablePadding("it joins a dynamic axis to the one before it")


def _lengths(shape: Shape, axes: Axes) -> list[_PaddedAxis]:
    pairs = zip(shape, axes, strict=True)
    return [_PaddedAxis(size, extent) for size, extent in pairs if size != 1]


def _group(
    left: list[_PaddedAxis], right: list[_PaddedAxis]
) -> tuple[list[_PaddedAxis], list[_PaddedAxis]]:
    """Remove the next group from both lists."""
    first: list[_PaddedAxis] = []
    second: list[_PaddedAxis] = []
    sizes = [1, 1]
    while sizes[0] != sizes[1] or not (first or second):
        side = 0 if sizes[0] <= sizes[1] else 1
        rest, group = ((left, first), (right, second))[side]
        if not rest:
            side = 1 - side
            rest, group = ((left, first), (right, second))[side]
        if not rest:
            raise UnprovablePadding("it moves elements between axes")
        length = rest.pop(0)
        group.append(length)
        sizes[side] *= length.size
    return first, second
