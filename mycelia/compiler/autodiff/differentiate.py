"""Calling a function while it is read, and differentiating what it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mycelia.compiler.autodiff.control import Rules
from mycelia.compiler.autodiff.reverse import pull, zeros_of
from mycelia.compiler.autodiff.segments import run_again
from mycelia.compiler.narrowing.narrow import narrow
from mycelia.compiler.rolling import roll
from mycelia.compiler.symbolic import Number, is_symbolic
from mycelia.compiler.tracer import Tracer
from mycelia.ir.node import Node, owner
from mycelia.ir.slot import call
from mycelia.ops.shaping import Identity
from mycelia.tensor.tensor import Tensor

_ALIAS = Identity.of()


@dataclass(frozen=True)
class GraphPullback:
    """The result of a call that was read, and the way back from it."""

    tracer: Tracer
    value: Any
    inputs: tuple[Any, ...]
    aliases: tuple[Node, ...]  # the nodes that stand for the weights

    def pull(self, seeds: list[tuple[Tensor, Tensor]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The gradients of inputs and weights for the given gradients of outputs."""
        builder = self.tracer.builder
        live = [(out, seed) for out, seed in seeds if is_symbolic(out)]
        flat = [t for argument in self.inputs for t in tensors_in(argument)]
        outputs = [builder.local(out._data) for out, _ in live]
        targets = [*(t._data for t in flat), *self.aliases]
        nodes = self._better([*outputs, *targets])
        if self.tracer.allowed is not None and builder is self.tracer.root:
            count = len(outputs)
            run_again(builder, nodes[:count], set(nodes[count:]), self.tracer.allowed)
            nodes = builder.substituted(nodes)
        pairs = list(zip(nodes[: len(outputs)], [seed for _, seed in live], strict=True))
        found = pull(self.tracer, pairs, nodes[len(outputs) :], Rules(self.tracer))
        grads = [
            g if g is not None else zeros_of(node.type)
            for g, node in zip(found, targets, strict=True)
        ]
        rest = iter(grads[: len(flat)])
        by_input = tuple(rebuild(argument, rest) for argument in self.inputs)
        return by_input, tuple(grads[len(flat) :])

    def close(self) -> None:
        """Nothing is held open."""

    def _better(self, nodes: list[Node]) -> list[Node]:
        """`nodes` as gradients are best taken of them, with all else that is needed in mind."""
        builder = self.tracer.builder
        others = [t._data for t in tensors_in(self.value) if is_symbolic(t)]
        others += self.tracer.pending()
        kept = [node for node in others if owner(node) is builder.graph]
        found = roll(self.tracer, builder.substituted([*nodes, *kept]))
        return narrow(self.tracer, found[: len(nodes)], found[len(nodes) :])


def record_call(
    tracer: Tracer,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    positions: Sequence[int],
    weights: Sequence[Tensor],
) -> GraphPullback:
    """Call `fn` so that the gradients of the arguments at `positions` and of `weights` follow."""
    watched = {p: _watch(tracer, args[p]) for p in positions}
    before = [tracer.bound(w)._data for w in weights]
    aliases = tuple([_alias(tracer, w) for w in weights])
    for weight, alias in zip(weights, aliases, strict=True):
        weight._data = alias
    try:
        value = call(fn, *[watched.get(i, a) for i, a in enumerate(args)], **kwargs)
    finally:
        for weight, alias, data in zip(weights, aliases, before, strict=True):
            if weight._data is alias:
                weight._data = data
    return GraphPullback(tracer, value, tuple(watched[p] for p in positions), aliases)


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors of nested tuples and lists, in order."""
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors_in(v)]
    return [value] if isinstance(value, Tensor) else []


def rebuild(argument: Any, grads: Any) -> Any:
    """The gradients in the structure of an argument; `()` where there is no tensor."""
    if isinstance(argument, (tuple, list)):
        return tuple(rebuild(a, grads) for a in argument)
    return next(grads) if isinstance(argument, Tensor) else ()


def _watch(tracer: Tracer, value: Any) -> Any:
    """A node of its own for each tensor, so that nested gradients do not mix."""
    if isinstance(value, (tuple, list)):
        return type(value)(_watch(tracer, v) for v in value)
    if isinstance(value, Number):
        return Number.of(_alias(tracer, value), value.kind)
    return Tensor._wrap(_alias(tracer, value)) if isinstance(value, Tensor) else value


def _alias(tracer: Tracer, value: Tensor) -> Node:
    return tracer.apply(_ALIAS, [tracer.data_node(value)], ())
