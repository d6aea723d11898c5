"""Cells whose call changes parameters as a whole or not at all."""

from __future__ import annotations

from typing import Any

from mycelia._engine.runtime.eager.atomic_calls import run_atomically
from mycelia.nn.cell import Cell
from mycelia.transforms.jit import in_graph_mode


class AtomicStep(Cell):
    """A cell such as an optimizer: after an error or an interruption, nothing has changed."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if in_graph_mode():  # a program writes everything at its end
            return super().__call__(*args, **kwargs)
        return run_atomically(super().__call__, *args, **kwargs)
