"""Padding layers: constant, zero, reflection, and replication."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.nn.cell import Cell
from mycelia.ops.shapes.pad import MirrorPad, pad


def _sides(owner: str, padding: Any, dimensions: int) -> tuple[int, ...]:
    """`padding` as (before, after) pairs, the last axis first."""
    if is_int(padding):
        return (padding,) * (2 * dimensions)
    if not isinstance(padding, tuple):
        raise wrong_type(owner, "padding", padding, "an int or a tuple")
    if len(padding) % 2:
        raise problem(
            ValueError,
            f"{owner}: the length of 'padding' must be a multiple of 2",
            got=f"{len(padding)} numbers",
        )
    for number in padding:
        if not is_int(number):
            raise wrong_type(owner, "padding", padding, "a tuple of ints")
    return padding


class _ConstantPadLayer(Cell):
    """The base of constant padding layers."""

    dimensions = 1

    def __init__(self, padding: Any, value: Any) -> None:
        super().__init__()
        owner = type(self).__name__
        self.padding = _sides(owner, padding, self.dimensions)
        if not isinstance(value, (int, float)):
            raise wrong_type(owner, "value", value, "int or float")
        self.value = value

    def construct(self, x: Any) -> Any:
        return pad(x, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPadLayer):
    """Pads the last axis with `value`; negative paddings crop."""


class ConstantPad2d(_ConstantPadLayer):
    """Pads the last two axes with `value`; negative paddings crop."""

    dimensions = 2


class ConstantPad3d(_ConstantPadLayer):
    """Pads the last three axes with `value`; negative paddings crop."""

    dimensions = 3


class ZeroPad2d(_ConstantPadLayer):
    """Pads the last two axes with zeros; negative paddings crop."""

    dimensions = 2

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0)


class _ReflectionPadLayer(Cell):
    """The base of reflection padding layers."""

    dimensions = 1

    def __init__(self, padding: Any) -> None:
        super().__init__()
        owner = type(self).__name__
        self.padding = _sides(owner, padding, self.dimensions)
        if min(self.padding) < 0:
            raise problem(
                ValueError,
                f"{owner}: every element in 'padding' must be >= 0",
                got=f"{self.padding}",
            )
        pairs = list(zip(self.padding[::2], self.padding[1::2], strict=True))
        self.pairs = tuple(reversed(pairs))
        self.mirror = MirrorPad("REFLECT")

    def construct(self, x: Any) -> Any:
        return self.mirror(x, ((0, 0),) * (len(x.shape) - len(self.pairs)) + self.pairs)


class ReflectionPad1d(_ReflectionPadLayer):
    """Pads the last axis by reflection at the border."""


class ReflectionPad2d(_ReflectionPadLayer):
    """Pads the last two axes by reflection at the border."""

    dimensions = 2


class ReflectionPad3d(_ReflectionPadLayer):
    """Pads the last three axes by reflection at the border."""

    dimensions = 3


class _ReplicationPadLayer(Cell):
    """The base of replication padding layers."""

    dimensions = 1

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _sides(type(self).__name__, padding, self.dimensions)

    def construct(self, x: Any) -> Any:
        return pad(x, self.padding, "replicate")


class ReplicationPad1d(_ReplicationPadLayer):
    """Pads the last axis with its border elements."""


class ReplicationPad2d(_ReplicationPadLayer):
    """Pads the last two axes with their border elements."""

    dimensions = 2


class ReplicationPad3d(_ReplicationPadLayer):
    """Pads the last three axes with their border elements."""

    dimensions = 3
