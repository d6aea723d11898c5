"""When a reshape keeps padding at the ends of axes, where it can be cut off."""

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
    """Raise Unprovable unless padding at the ends of axes is at the ends of axes afterwards.

    Both shapes fall into groups of neighbouring axes with the same number of elements. In a group
    with one padded axis, as many elements must come before that axis on both sides: then its
    beginning on one side holds what its beginning on the other side holds.
    """
    left, right = _lengths(before, axes), _lengths(after, result)
    while left or right:
        first, second = _group(left, right)
        places = [
            [i for i, length in enumerate(group) if length.extent] for group in (first, second)
        ]
        if places == [[], []]:
            continue
        symbols = {length.extent.symbol for length in first + second if length.extent}
        if not len(places[0]) == len(places[1]) == len(symbols) == 1:
            raise UnprovablePadding("it joins or splits several dynamic axes")
        leads = [
            prod(length.size for length in group[: place[0]])
            for group, place in zip((first, second), places, strict=True)
        ]
        if leads[0] != leads[1]:
            raise UnprovablePadding("it joins a dynamic axis to the one before it")


def _lengths(shape: Shape, axes: Axes) -> list[_PaddedAxis]:
    pairs = zip(shape, axes, strict=True)
    return [_PaddedAxis(size, extent) for size, extent in pairs if size != 1]


def _group(
    left: list[_PaddedAxis], right: list[_PaddedAxis]
) -> tuple[list[_PaddedAxis], list[_PaddedAxis]]:
    """Take the next group off both lists."""
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
