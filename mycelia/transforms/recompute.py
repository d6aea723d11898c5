"""Trading time for memory: values that the backward pass computes again."""

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
    """`block(*args, **kwargs)`; in compiled code its inner values are not kept for the backward.

    Eager mode keeps what its backward needs, so there this is a plain call.
    """
    if not callable(block):
        raise wrong_type("recompute", "block", block, "a Cell or a function")
    if handlers.enclosed is None:
        return block(*args, **kwargs)
    return handlers.enclosed(RECOMPUTE, lambda: call_user_function(block, *args, **kwargs))
