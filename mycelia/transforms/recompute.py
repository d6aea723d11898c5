"""Rematerialization: `recompute` trades compute time for memory in the backward pass."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import wrong_type
from mycelia._engine.ir.control_flow import RECOMPUTE
from mycelia._engine.ir.handlers import call_user_function, handlers


def recompute(
    block: Any,
    *args: Any,
    use_reentrant: bool = True,
    output_recompute: bool = False,
    early_stop: bool = True,
    context_fn: Any = None,
    **kwargs: Any,
) -> Any:
    """Call `block(*args, **kwargs)`, recomputing its residuals in the backward pass.

    Compiled code then does not store the residuals. Eager mode stores them, so there this is an
    ordinary call.
    """
    if not callable(block):
        raise wrong_type("recompute", "block", block, "a Cell or a function")
    if handlers.enclosed is None:
        return block(*args, **kwargs)
    return handlers.enclosed(RECOMPUTE, lambda: call_user_function(block, *args, **kwargs))
