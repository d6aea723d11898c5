"""Calling functions for their gradients: recorded eagerly, or read into the program in work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mycelia.compiler.autodiff import differentiate as graph
from mycelia.compiler.autodiff.differentiate import GraphPullback
from mycelia.compiler.tracer import active_tracer
from mycelia.core.errors import problem
from mycelia.runtime.eager import differentiate as eager
from mycelia.runtime.eager.differentiate import Pullback
from mycelia.tensor.tensor import Tensor


def record_call(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    positions: Sequence[int],
    weights: Sequence[Tensor] = (),
) -> Pullback | GraphPullback:
    """Call `fn` so that its result can be pulled back to `positions` and `weights`."""
    for position in positions:
        if not 0 <= position < len(args):
            raise problem(
                RuntimeError,
                f"Position index {position} is exceed input size.",
                got=f"grad_position {position} for a call with {len(args)} arguments",
            )
    tracer = active_tracer()
    if tracer is None:
        return eager.record_call(fn, args, kwargs, positions, weights)
    return graph.record_call(tracer, fn, args, kwargs, positions, weights)
