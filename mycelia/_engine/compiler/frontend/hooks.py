"""Tensor hooks in traced programs: their functions become part of the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.hook_handle import HookHandle
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.node import Apply, GraphNode, owner
from mycelia.ops.control.gradient_hooks import Hooked, RegisteredHooks, shown
from mycelia.tensor.tensor import Tensor

if TYPE_CHECKING:
    from mycelia._engine.compiler.frontend.tracer import Tracer


def hook_tensor(tracer: Tracer, tensor: Tensor, function: Callable[[Any], Any]) -> HookHandle:
    """Register a hook that receives the full gradient of `tensor` and may replace it."""
    node = tracer.bound(tensor)._data
    if not isinstance(node, GraphNode):  # a constant has no gradient
        return HookHandle([], function)
    op = primitive_of(tracer.builder.replaced.get(node, node))
    if type(op) is not Hooked:
        op = Hooked(RegisteredHooks())
        _insert(tracer, op, tensor, node)
    op.registered.functions.append(function)
    return HookHandle(op.registered.functions, function)


def _insert(tracer: Tracer, op: Hooked, tensor: Tensor, node: GraphNode) -> None:
    """Replace a node by its hooked value, also in earlier uses."""
    builder = tracer.builder
    if owner(node) is not builder.graph:
        raise problem(
            RuntimeError,
            "register_hook: the tensor was created outside this branch or loop",
            expected="a hook on every path, or a tensor created in the branch itself",
            fix="register the hook where the tensor is created",
        )
    if isinstance(node, Apply):
        builder.replaced[node] = tracer.apply(op, [replace(node)], ())
    elif tensor._is_parameter:
        raise problem(
            RuntimeError,
            "register_hook: hooks of a parameter must be registered before compilation",
            fix="call parameter.register_hook(...) outside construct",
        )
    else:
        tensor._data = tracer.apply(op, [node], ())


def hooked(tracer: Tracer, node: GraphNode, tensor: Tensor) -> GraphNode:
    """The node of a tensor, wrapped in the hooks registered on the tensor outside the program."""
    functions = tensor.__dict__.get("hooks")
    if not functions:
        return node
    return tracer.apply(Hooked(RegisteredHooks(functions)), [node], ())


def after_hooks(tracer: Tracer, tensor: Tensor, gradient: Tensor) -> Tensor:
    """A gradient after the hooks registered on its tensor outside the program."""
    tracer.guards.announced(hooks_of, (tensor,), hooks_of(tensor))
    return shown(tensor.__dict__.get("hooks") or (), gradient)


def unhooked(node: GraphNode) -> GraphNode:
    """The node inside the hooks, whose gradient the hooks have already processed."""
    while isinstance(node, Apply) and type(primitive_of(node)) is Hooked:
        node = node.args[0]
    return node


def hooks_of(*tensors: Tensor) -> tuple[tuple[Any, ...], ...]:
    """The hook functions currently registered on tensors."""
    return tuple([tuple(t.__dict__.get("hooks") or ()) for t in tensors])
