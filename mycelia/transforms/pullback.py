"""Calls with a pullback, on the eager tape or in the graph being traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.autodiff import differentiate as graph
from mycelia._engine.compiler.autodiff.differentiate import GraphPullback
from mycelia._engine.compiler.frontend.tracer import active_tracer
from mycelia._engine.core.errors import problem
from mycelia._engine.runtime.eager import differentiate as eager
from mycelia._engine.runtime.eager.differentiate import Pullback
from mycelia.ops.shapes.creation import zeros
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


def record_call(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    positions: Sequence[int],
    weights: Sequence[Tensor] = (),
) -> AnyPullback:
    """Call `fn` and return its pullback to the inputs at `positions` and the `weights`."""
    tracer = active_tracer()
    for position in positions:
        if not 0 <= position < len(args):
            raise problem(
                RuntimeError if tracer is None else IndexError,
                f"Position index {position} is exceed input size.",
                got=f"grad_position {position} for a call with {len(args)} arguments",
            )
    frozen = _frozen(*weights)
    if tracer is not None:
        tracer.guards.announced(_frozen, tuple(weights), frozen)
    live = [w for w, is_frozen in zip(weights, frozen, strict=True) if not is_frozen]
    pullback: Pullback | GraphPullback
    if tracer is None:
        pullback = eager.record_call(fn, args, kwargs, positions, live)
    else:
        pullback = graph.record_call(tracer, fn, args, kwargs, positions, live)
    return FrozenWeightsPullback(pullback, tuple(weights), frozen) if any(frozen) else pullback


@dataclass(frozen=True)
class FrozenWeightsPullback:
    """A pullback in which weights with `requires_grad=False` have the gradient 0."""

    pullback: Pullback | GraphPullback
    weights: tuple[Tensor, ...]
    frozen: tuple[bool, ...]

    @property
    def value(self) -> Any:
        """The result of the call."""
        return self.pullback.value

    def pull(self, seeds: list[tuple[Tensor, Tensor]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The gradients of inputs and weights for these output gradients."""
        by_input, found = self.pullback.pull(seeds)
        rest = iter(found)
        by_weight = [
            zeros(w.shape, w.dtype) if is_frozen else next(rest)
            for w, is_frozen in zip(self.weights, self.frozen, strict=True)
        ]
        return by_input, tuple(by_weight)

    def close(self) -> None:
        """Release the tape of the call."""
        self.pullback.close()


def _frozen(*weights: Tensor) -> tuple[bool, ...]:
    return tuple(
        [
            isinstance(w, Parameter) and not (w.requires_grad or w.measures_gradients)
            for w in weights
        ]
    )


AnyPullback = Pullback | GraphPullback | FrozenWeightsPullback
