"""Reverse-mode differentiation: backpropagation on the graph being built."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.compiler.autodiff.accumulation import Cotangents
from mycelia._engine.compiler.frontend.tracer import Tracer
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.control_flow import (
    CALL,
    RECOMPUTE,
    SWITCH,
    TUPLE,
    WHILE,
    Custom,
    Effect,
    Item,
    Scan,
    Vmap,
    primitive_of,
)
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.ir.primitive import Primitive
from mycelia.ops.shapes.creation import Zeros
from mycelia.ops.shapes.reshape import Cast
from mycelia.ops.vjp import gradients
from mycelia.tensor.tensor import Tensor


def backpropagate(
    tracer: Tracer, seeds: list[tuple[GraphNode, Tensor]], targets: list[GraphNode], rules: Any
) -> list[Tensor | None]:
    """Compute the gradients of `targets`; new nodes go into the graph being built.

    `rules` are the gradient rules of control flow nodes.
    """
    cotangents = Cotangents()
    wanted = set(targets)
    order = nodes_between([node for node, _ in seeds], wanted)
    live = set(order)
    for node, seed in seeds:
        cotangents.add(node, seed)
    span = tracer.span
    for node in reversed(order):
        if node in wanted or node not in cotangents:
            continue
        assert isinstance(node, Apply)
        tracer.span = node.span
        _pull_one(tracer, node, cotangents, live, rules)
    tracer.span = span
    return [cotangents.get(node) for node in targets]


def nodes_between(outputs: list[GraphNode], targets: set[GraphNode]) -> list[GraphNode]:
    """The nodes on paths from targets to outputs, inputs first; excludes nodes below a target."""
    order: list[GraphNode] = []
    depends: dict[GraphNode, bool] = {}
    stack: list[tuple[GraphNode, bool]] = [(node, False) for node in outputs]
    while stack:
        node, done = stack.pop()
        if node in depends:
            continue
        if node in targets:
            depends[node] = True
            order.append(node)
        elif not isinstance(node, Apply):
            depends[node] = False
        elif done:
            depends[node] = any(depends[a] for a in node.args)
            if depends[node]:
                order.append(node)
        else:
            stack.append((node, True))
            stack.extend((a, False) for a in node.args if a not in depends)
    return order


def _pull_one(
    tracer: Tracer, node: Apply, cotangents: Cotangents, live: set[GraphNode], rules: Any
) -> None:
    op = primitive_of(node)
    dout = cotangents.get(node)
    if op is TUPLE:
        for arg, part in zip(node.args, dout, strict=True):
            cotangents.add(arg, part)
    elif type(op) is Item:
        whole = node.args[0]
        parts = [None] * len(whole.type)
        parts[op.index] = dout
        cotangents.add(whole, tuple(parts))
    elif op is SWITCH:
        rules.switch(node, dout, cotangents, live)
    elif op is WHILE:
        rules.loop(node, dout, cotangents, live)
    elif op is RECOMPUTE:
        rules.recompute(node, dout, cotangents, live)
    elif type(op) is Scan:
        rules.scan(node, dout, cotangents, live)
    elif type(op) is Vmap:
        rules.vmap(node, dout, cotangents, live)
    elif op is CALL:
        raise problem(RuntimeError, "cannot differentiate a graph with a recursive call")
    elif type(op) is Effect:
        return
    elif type(op) is Custom:
        grads = op.backward(dout, [arg in live for arg in node.args])
        for arg, grad in zip(node.args, grads, strict=False):
            if arg in live and grad is not None:
                cotangents.add(arg, grad)
    elif op.differentiable:
        _pull_operator(tracer, op, node, dout, cotangents, live)


def _pull_operator(
    tracer: Tracer,
    op: Primitive,
    node: Apply,
    dout: Any,
    cotangents: Cotangents,
    live: set[GraphNode],
) -> None:
    data, static = op.arguments.split(node.args)
    values = tuple([_value(tracer, a) for a in data])
    out = tracer.wrap(node)
    if op.writes:
        out, dout = out[0], dout[0]
        if out is None:
            return
        type_ = node.type[0]
    else:
        type_ = node.type
    if not op.takes_missing_gradients:
        dout = _filled(dout, type_)
    known = tuple([s.value for s in static])
    grads = gradients(op, values, known, out, dout, [arg in live for arg in data])
    if len(grads) < len(data) and not (op.draws and len(grads) == len(data) - 1):
        raise problem(
            RuntimeError,
            f"{op.name}: the backward function returned too few gradients",
            got=f"{len(grads)} for {len(data)} inputs",
            expected="one for each input",
        )
    for arg, grad in zip(data, grads, strict=False):
        if arg in live and grad is not None:
            cotangents.add(arg, grad)


def _value(tracer: Tracer, node: GraphNode) -> Any:
    """An argument in the form that `grad` rules expect: a tensor, None, or a tuple."""
    if primitive_of(node) is TUPLE:
        assert isinstance(node, Apply)
        return tuple([_value(tracer, a) for a in node.args])
    if isinstance(node, Apply) or node.type is not None:
        return tracer.wrap(node)
    return None


def _filled(dout: Any, type_: Any) -> Any:
    """Output gradients, with zeros for missing ones."""
    if isinstance(type_, tuple):
        parts = dout if dout is not None else (None,) * len(type_)
        return tuple([_filled(d, t) for d, t in zip(parts, type_, strict=True)])
    if dout is not None or type_ is None:
        return dout
    return zeros_of(type_)


def zeros_of(type_: Any) -> Tensor:
    """Zeros of a type; few elements become a constant."""
    if np.prod(type_.shape, dtype=np.int64) <= 64:
        return Tensor._wrap(np.zeros(type_.shape, type_.dtype.numpy))
    return Zeros.of()(type_.shape, type_.dtype)


def cast_to(grad: Tensor, type_: Any) -> Tensor:
    """A gradient cast to the dtype of a type."""
    return grad if grad.dtype is type_.dtype else Cast.of()(grad, type_.dtype)
