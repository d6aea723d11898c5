"""Padding layers: with a constant, by reflection, by replication."""

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
    """What the constant paddings share."""

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
    """The last axis made wider with `value`; negative paddings cut."""


class ConstantPad2d(_ConstantPadLayer):
    """The last two axes made wider with `value`; negative paddings cut."""

    dimensions = 2


class ConstantPad3d(_ConstantPadLayer):
    """The last three axes made wider with `value`; negative paddings cut."""

    dimensions = 3


class ZeroPad2d(_ConstantPadLayer):
    """The last two axes made wider with zeros; negative paddings cut."""

    dimensions = 2

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0)


class _ReflectionPadLayer(Cell):
    """What the reflecting paddings share."""

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
    """The last axis made wider with what lies on the other side of its border."""


class ReflectionPad2d(_ReflectionPadLayer):
    """The last two axes made wider with what lies on the other side of their borders."""

    dimensions = 2


class ReflectionPad3d(_ReflectionPadLayer):
    """The last three axes made wider with what lies on the other side of their borders."""

    dimensions = 3


class _ReplicationPadLayer(Cell):
    """What the replicating paddings share."""

    dimensions = 1

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _sides(type(self).__name__, padding, self.dimensions)

    def construct(self, x: Any) -> Any:
        return pad(x, self.padding, "replicate")


class ReplicationPad1d(_ReplicationPadLayer):
    """The last axis made wider with its border elements."""


class ReplicationPad2d(_ReplicationPadLayer):
    """The last two axes made wider with their border elements."""

    dimensions = 2


class ReplicationPad3d(_ReplicationPadLayer):
    """The last three axes made wider with their border elements."""

    dimensions = 3
