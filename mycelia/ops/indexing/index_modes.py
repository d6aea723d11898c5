"""Modes for indices out of range: clip to the nearest element, or wrap around."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import int32
from mycelia._engine.core.errors import problem, wrong_value
from mycelia.ops.elementwise.arithmetic import add
from mycelia.ops.elementwise.comparison import less
from mycelia.ops.elementwise.lerp import clamp
from mycelia.ops.elementwise.remainder import floor_mod
from mycelia.ops.elementwise.where import where
from mycelia.ops.shapes.reshape import cast


def brought_inside(owner: str, indices: Any, size: int, mode: str, *, from_end: bool) -> Any:
    """Indices mapped into 0 to `size` - 1; negative ones count from the end if `from_end`."""
    if mode == "raise":
        raise problem(
            NotImplementedError, f"{owner}: mode 'raise' is not supported", fix="'clip' or 'wrap'"
        )
    if mode not in ("clip", "wrap"):
        raise wrong_value(owner, "mode", mode, "one of 'raise', 'wrap', 'clip'")
    integers = cast(indices, int32) if indices.dtype.is_bool else indices
    if mode == "wrap":
        return floor_mod(integers, size)
    lowest = -size if from_end and integers.dtype.kind != "uint" else 0
    clipped = clamp(integers, lowest, size - 1)
    return where(less(clipped, 0), add(clipped, size), clipped) if lowest else clipped
