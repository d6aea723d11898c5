"""A layer for every step of a sequence."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import wrong_type
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.primitive import Primitive
from mycelia.nn.cell import Cell


class TimeDistributed(Cell):
    """`layer` for each step along `time_axis`.

    With `reshape_with_axis`, an axis whose elements the layer treats alike, steps and that axis
    become one, and the layer runs once.
    """

    def __init__(self, layer: Any, time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__()
        if not isinstance(layer, (Cell, Primitive)):
            raise wrong_type("TimeDistributed", "layer", layer, "Cell or Primitive")
        self.layer = layer
        self.time_axis = check_int("TimeDistributed", "time_axis", time_axis)
        if reshape_with_axis is not None:
            check_int("TimeDistributed", "reshape_with_axis", reshape_with_axis)
        self.reshape_with_axis = reshape_with_axis

    def construct(self, inputs: Any) -> Any:
        time = normalize_axis(self.time_axis, inputs.ndim, "TimeDistributed")
        if self.reshape_with_axis is None:
            steps = ops.unbind(inputs, time)
            return ops.stack(tuple(self.layer(step) for step in steps), time)
        alike = normalize_axis(self.reshape_with_axis, inputs.ndim, "TimeDistributed")
        return self._at_once(inputs, time, alike)

    def _at_once(self, inputs: Any, time: int, alike: int) -> Any:
        sizes = inputs.shape[time], inputs.shape[alike]
        place = alike - (time < alike)
        first = ops.movedim(inputs, (time, alike), (0, 1))
        merged = first.reshape(sizes[0] * sizes[1], *first.shape[2:])
        found = ops.movedim(self.layer(ops.movedim(merged, 0, place)), place, 0)
        parted = found.reshape(*sizes, *found.shape[1:])
        return ops.movedim(ops.movedim(parted, 1, place + 1), 0, time)
