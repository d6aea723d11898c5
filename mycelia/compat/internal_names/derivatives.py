"""`mindspore.nn.grad`: directional derivatives and pullbacks as cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.nn.cell import Cell
from mycelia.transforms.jacobian import jvp, vjp


class Jvp(Cell):
    """Jacobian-vector product of `fn`, called with its inputs followed by a direction."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(auto_prefix=False)
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        *inputs, direction = args
        directions = direction if isinstance(direction, (tuple, list)) else (direction,)
        return jvp(self.fn, tuple(inputs), tuple(directions))


class Vjp(Cell):
    """Vector-Jacobian product of `fn`, called with its inputs followed by an output gradient."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(auto_prefix=False)
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        *inputs, gradient = args
        value, pull = vjp(self.fn, *inputs)
        seeds = gradient if isinstance(gradient, (tuple, list)) else (gradient,)
        gradients = pull(*seeds)
        is_single = isinstance(gradients, tuple) and len(gradients) == 1
        return value, gradients[0] if is_single else gradients
