"""Cells that give derivatives of a cell along a direction: Jvp and Vjp."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.transforms.jacobian import jvp, vjp


class Jvp(Cell):
    """The output of `fn`, and how it changes when its inputs move along the last argument."""

    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        inputs, direction = _parted("Jvp", args)
        return jvp(self.fn, inputs, direction)


class Vjp(Cell):
    """The output of `fn`, and the gradient of its inputs for the last argument."""

    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        inputs, direction = _parted("Vjp", args)
        output, pull = vjp(self.fn, *inputs)
        several = isinstance(direction, tuple)
        gradients = pull(*direction) if several else pull(direction)
        alone = len(inputs) == 1 and isinstance(gradients, tuple)
        return output, gradients[0] if alone else gradients


def _parted(owner: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """The inputs, as jvp and vjp take them, and the direction."""
    if len(args) < 2:
        raise problem(
            TypeError, f"{owner}: the inputs of the function come first, then a direction"
        )
    *inputs, direction = args
    return tuple(inputs), direction
