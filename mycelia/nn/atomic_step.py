"""AtomicStep: cells whose call updates all parameters or none."""

from __future__ import annotations

from typing import Any

from mycelia._engine.runtime.eager.atomic_calls import run_atomically
from mycelia.nn.cell import Cell
from mycelia.transforms.jit import in_graph_mode


class AtomicStep(Cell):
    """A cell, such as an optimizer, that changes nothing if it fails or is interrupted."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if in_graph_mode():  # a program writes all of its results at the end
            return super().__call__(*args, **kwargs)
        return run_atomically(super().__call__, *args, **kwargs)
