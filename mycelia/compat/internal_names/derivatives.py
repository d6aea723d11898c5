"""`mindspore.nn.grad`: directional derivatives and pullbacks as cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.nn.cell import Cell
from mycelia.transforms.jacobian import jvp, vjp


class Jvp(Cell):
    """Called with the inputs of `fn` and then a direction: the value and its derivative."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(auto_prefix=False)
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        *inputs, direction = args
        directions = direction if isinstance(direction, (tuple, list)) else (direction,)
        return jvp(self.fn, tuple(inputs), tuple(directions))


class Vjp(Cell):
    """Called with the inputs of `fn` and then an output gradient: the value and the gradients."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(auto_prefix=False)
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        *inputs, gradient = args
        value, pull = vjp(self.fn, *inputs)
        seeds = gradient if isinstance(gradient, (tuple, list)) else (gradient,)
        found = pull(*seeds)
        is_single = isinstance(found, tuple) and len(found) == 1
        return value, found[0] if is_single else found
