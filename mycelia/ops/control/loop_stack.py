"""Stacks of fixed size that store the residuals of loop iterations and calls."""

from __future__ import annotations

from typing import Any

from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import (
    INTEGERS,
    check_axes,
    check_kinds,
    check_readable,
    check_shape,
)
from mycelia.ops.shapes.creation import zeros_like


class StackWrite(Op):
    """Writes `value` to a stack at `index`, which is clipped to the last element."""

    examples = (case("f32[4,3]", "i64[]:<4", "f32[3]"), case("f32[2]", "i64[]:<2", "f32[]"))

    def infer(self, stack: TensorType, index: TensorType, value: TensorType) -> TensorType:
        element = StackRead.of().infer(stack, index)
        check_shape(self.name, "value", value, element.shape)
        return stack

    def lower(self, stack: Array, index: Array, value: Array) -> Array:
        value = jnp.asarray(value).astype(stack.dtype)
        return lax.dynamic_update_index_in_dim(jnp.asarray(stack), value, _clipped(stack, index), 0)

    def grad(self, stack: Any, index: Any, value: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return StackWrite.of()(dout, index, zeros_like(value)), None, StackRead.of()(dout, index)


class StackRead(Op):
    """Reads the value of a stack at `index`."""

    examples = (case("f32[4,3]", "i64[]:<4"), case("f32[2]", "i64[]:<2"))

    def infer(self, stack: TensorType, index: TensorType) -> TensorType:
        check_axes(self.name, "stack", stack)
        check_shape(self.name, "index", index, ())
        check_kinds(self.name, INTEGERS, index=index)
        check_readable(self.name, stack.with_shape(stack.shape[:1]), (1,))
        return stack.with_shape(stack.shape[1:])

    def lower(self, stack: Array, index: Array) -> Array:
        return lax.dynamic_index_in_dim(
            jnp.asarray(stack), _clipped(stack, index), 0, keepdims=False
        )

    def grad(self, stack: Any, index: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return StackWrite.of()(zeros_like(stack), index, dout), None


def _clipped(stack: Array, index: Array) -> Array:
    return jnp.clip(jnp.asarray(index), 0, stack.shape[0] - 1)
