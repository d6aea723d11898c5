"""A decorator for functions that XLA must compile separately from their neighbors.

On CPU, XLA fuses as much as it can, and removes optimization barriers before it does. A loop that
is fast alone, with simple index arithmetic along the innermost axis, may become one that computes
every index from scratch: the gradient of LeNet's first pooling takes 0.06 ms separately and 0.8 ms
fused. A call that must not be inlined keeps the loop as it was written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from jax.experimental.xla_metadata import set_xla_metadata

from mycelia._engine.jax_setup import jax
from mycelia._engine.operators.device import on_cpu


def fusion_barrier(*static: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: compile a function on arrays separately on CPU; `static` names other arguments.

    The attribute is removed inside, so that calls which the function makes are inlined into it.
    """

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(fn)
        def inside(*args: Any) -> Any:
            with set_xla_metadata(inlineable=None):
                return fn(*args)

        compiled = jax.jit(inside, static_argnames=static)

        @wraps(fn)
        def call(*args: Any) -> Any:
            if not on_cpu():
                return fn(*args)
            with set_xla_metadata(inlineable="false"):
                return compiled(*args)

        return call

    return decorate
