"""Jvp and Vjp: cells that compute Jacobian-vector and vector-Jacobian products."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.transforms.jacobian import jvp, vjp


class Jvp(Cell):
    """The output of `fn` and its Jacobian-vector product with the last argument."""

    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        inputs, direction = _split_direction("Jvp", args)
        return jvp(self.fn, inputs, direction)


class Vjp(Cell):
    """The output of `fn` and its vector-Jacobian product with the last argument."""

    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        inputs, direction = _split_direction("Vjp", args)
        output, pull = vjp(self.fn, *inputs)
        several = isinstance(direction, tuple)
        gradients = pull(*direction) if several else pull(direction)
        alone = len(inputs) == 1 and isinstance(gradients, tuple)
        return output, gradients[0] if alone else gradients


def _split_direction(owner: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """Split the arguments into the inputs and the direction, for jvp and vjp."""
    if len(args) < 2:
        raise problem(
            TypeError, f"{owner}: expected the inputs of the function, followed by a direction"
        )
    *inputs, direction = args
    return tuple(inputs), direction
