"""The TimeDistributed layer: a layer applied to each time step."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import wrong_type
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.primitive import Primitive
from mycelia.nn.cell import Cell


class TimeDistributed(Cell):
    """Applies `layer` to each step along `time_axis`.

    `reshape_with_axis` is an axis over whose elements the layer works independently, such as the
    batch axis; the layer then runs once on both axes merged.
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
        batch = normalize_axis(self.reshape_with_axis, inputs.ndim, "TimeDistributed")
        return self._merged(inputs, time, batch)

    def _merged(self, inputs: Any, time: int, batch: int) -> Any:
        sizes = inputs.shape[time], inputs.shape[batch]
        axis = batch - (time < batch)
        first = ops.movedim(inputs, (time, batch), (0, 1))
        merged = first.reshape(sizes[0] * sizes[1], *first.shape[2:])
        output = ops.movedim(self.layer(ops.movedim(merged, 0, axis)), axis, 0)
        separated = output.reshape(*sizes, *output.shape[1:])
        return ops.movedim(ops.movedim(separated, 1, axis + 1), 0, time)
