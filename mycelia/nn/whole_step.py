"""Cells whose call changes parameters as a whole or not at all."""

from __future__ import annotations

from typing import Any

from mycelia.nn.cell import Cell
from mycelia.runtime.eager.whole import whole
from mycelia.transforms.jit import in_graph_mode


class WholeStep(Cell):
    """A cell such as an optimizer: after an error or an interruption, nothing has changed."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if in_graph_mode():  # a program writes everything at its end
            return super().__call__(*args, **kwargs)
        return whole(super().__call__, *args, **kwargs)
