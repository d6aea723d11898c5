"""Tracing a differentiated call, and computing its gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.autodiff.control_flow import ControlFlowGradients
from mycelia._engine.compiler.autodiff.rematerialization import rematerialize
from mycelia._engine.compiler.autodiff.reverse_mode import backpropagate, zeros_of
from mycelia._engine.compiler.frontend.hooks import hooked, hooks_of, unhooked
from mycelia._engine.compiler.frontend.mutation_journal import TensorLocation
from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber, is_symbolic
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.compiler.passes.layers_to_scan import roll_layers
from mycelia._engine.compiler.slice_pushdown.pushdown import push_down_slices
from mycelia._engine.ir.handlers import call_user_function
from mycelia._engine.ir.node import GraphNode, owner
from mycelia.ops.shapes.reshape import Identity
from mycelia.tensor.nested import leaves_of, mapped, tensors_of
from mycelia.tensor.tensor import Tensor

_ALIAS = Identity.of()


@dataclass(frozen=True)
class GraphPullback:
    """The result of a traced call, and its backward pass."""

    tracer: Tracer
    value: Any
    inputs: tuple[Any, ...]  # the differentiated arguments, with nodes instead of tensors
    aliases: tuple[GraphNode, ...]  # the nodes that represent the weights
    results: dict[int, GraphNode]  # of the weights, by identity, at the end of the call

    def pull(self, seeds: list[tuple[Tensor, Tensor]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The gradients of inputs and weights for the given output gradients."""
        builder = self.tracer.builder
        pairs = [(self.results.get(id(out), out._data), seed) for out, seed in seeds]
        live = [(node, seed) for node, seed in pairs if isinstance(node, GraphNode)]
        outputs = [builder.local(node) for node, _ in live]
        flat = [leaf for leaf in leaves_of(self.inputs) if leaf is not None]
        targets = [*flat, *self.aliases]
        nodes = self._optimized([*outputs, *targets])
        if self.tracer.allowed is not None and builder is self.tracer.root:
            count = len(outputs)
            rematerialize(builder, nodes[:count], set(nodes[count:]), self.tracer.allowed)
            nodes = builder.substituted(nodes)
        inner = [unhooked(node) for node in nodes[len(outputs) :]]
        pairs = list(zip(nodes[: len(outputs)], [seed for _, seed in live], strict=True))
        cotangents = backpropagate(self.tracer, pairs, inner, ControlFlowGradients(self.tracer))
        grads = [
            g if g is not None else zeros_of(node.type)
            for g, node in zip(cotangents, targets, strict=True)
        ]
        rest = iter(grads[: len(flat)])
        by_input = mapped(lambda leaf: () if leaf is None else next(rest), self.inputs)
        return by_input, tuple(grads[len(flat) :])

    def close(self) -> None:
        """Nothing to release."""

    def _optimized(self, nodes: list[GraphNode]) -> list[GraphNode]:
        """Optimized `nodes`, before differentiation, considering all other needed nodes."""
        builder = self.tracer.builder
        others = [t._data for t in tensors_of(self.value) if is_symbolic(t)]
        others += self.tracer.pending()
        pending = [node for node in others if owner(node) is builder.graph]
        optimized = roll_layers(self.tracer, builder.substituted([*nodes, *pending]))
        return push_down_slices(self.tracer, optimized[: len(nodes)], optimized[len(nodes) :])


def record_call(
    tracer: Tracer,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    positions: Sequence[int],
    weights: Sequence[Tensor],
) -> GraphPullback:
    """Call `fn` such that arguments at `positions` and `weights` can be differentiated."""
    watched = {p: mapped(lambda leaf: _watch(tracer, leaf), args[p]) for p in positions}
    inputs = tuple(mapped(_target, watched[p]) for p in positions)
    tracer.guards.announced(hooks_of, tuple(weights), hooks_of(*weights))
    before = [tracer.bound(w)._data for w in weights]
    aliases = tuple([_alias(tracer, w) for w in weights])
    hooked_aliases = [hooked(tracer, a, w) for a, w in zip(aliases, weights, strict=True)]
    for weight, node in zip(weights, hooked_aliases, strict=True):
        tracer.store.note(TensorLocation(weight))
        weight._data = node
    try:
        value = call_user_function(fn, *[watched.get(i, a) for i, a in enumerate(args)], **kwargs)
        results = {id(w): w._data for w in weights}
    finally:
        for weight, node, data in zip(weights, hooked_aliases, before, strict=True):
            if weight._data is node:
                weight._data = data
    return GraphPullback(tracer, value, inputs, aliases, results)


def _watch(tracer: Tracer, value: Any) -> Any:
    """A separate node for a tensor, so that nested gradients do not mix."""
    is_tensor = isinstance(value, Tensor) and not isinstance(value, SymbolicNumber)
    return Tensor._wrap(hooked(tracer, _alias(tracer, value), value)) if is_tensor else value


def _target(leaf: Any) -> GraphNode | None:
    """The node whose gradient a watched leaf receives, even if the call writes to the leaf."""
    is_tensor = isinstance(leaf, Tensor) and not isinstance(leaf, SymbolicNumber)
    return unhooked(leaf._data) if is_tensor else None


def _alias(tracer: Tracer, value: Tensor) -> GraphNode:
    return tracer.apply(_ALIAS, [tracer.data_node(value)], ())
