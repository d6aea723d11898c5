"""Selection by masks: select, where, masked_fill, masked_select, nonzero."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.dtype import bool_, int64
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import broadcast
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.tensor_protocol import TensorProtocol, check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import check_readable, check_same_dtypes, check_spreads_to
from mycelia.ops.indexing.gather import gather
from mycelia.ops.shapes.concat import unstack
from mycelia.ops.shapes.reshape import broadcast_to, cast, reshape, scalar_to_tensor, sum_to


class Select(Op):
    """`input` where the condition holds, `other` elsewhere."""

    promotes = ("input", "other")
    elementwise = True
    examples = (
        case("bool[2,3]", "f32[2,3]", "f32[2,3]"),
        case("bool[2,1]", "f32[3]", "f32[]"),
        case("bool[0]", "i32[0]", "i32[1]"),
    )

    def infer(self, condition: TensorType, input: TensorType, other: TensorType) -> TensorType:
        check_mask(self.name, "condition", condition)
        return input.with_shape(broadcast(condition.shape, input.shape, other.shape, op=self.name))

    def lower(self, condition: Array, input: Array, other: Array) -> Array:
        return jnp.where(condition, input, other)

    def host(self, condition: Any, input: Any, other: Any) -> Any:
        if condition.dtype != np.bool_:
            raise TypeError("the condition must be bool")
        return np.where(condition, input, other)

    def grad(self, condition: Any, input: Any, other: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        chosen = Select.of()(condition, dout, 0)
        rest = Select.of()(condition, 0, dout)
        return None, sum_to(chosen, input.shape), sum_to(rest, other.shape)


class MaskedFill(Op):
    """Fills the elements where the mask holds with one value; keeps the dtype of the tensor."""

    promotes = ("value",)
    examples = (
        case("f32[2,3]", "bool[2,3]", "f32[]"),
        case("f32[3]", "bool[2,1]", "f32[]"),
        case("i32[2]", "bool[2]", "i32[]"),
    )

    def infer(self, input_x: TensorType, mask: TensorType, value: TensorType) -> TensorType:
        check_mask(self.name, "mask", mask)
        if value.ndim:
            raise problem(
                ValueError, "MaskedFill: value must be a number or a 0-d tensor", got=str(value)
            )
        return input_x.with_shape(broadcast(input_x.shape, mask.shape, op=self.name))

    def lower(self, input_x: Array, mask: Array, value: Array) -> Array:
        return jnp.where(mask, jnp.asarray(value).astype(input_x.dtype), input_x)

    def host(self, input_x: Any, mask: Any, value: Any) -> Any:
        if mask.dtype != np.bool_ or value.ndim:
            raise TypeError("expected a bool mask and one value")
        return np.where(mask, value.astype(input_x.dtype), input_x)

    def grad(self, input_x: Any, mask: Any, value: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        gradient = Select.of()(mask, 0, dout)
        filled = Select.of()(mask, dout, 0)
        return sum_to(gradient, input_x.shape), None, cast(sum_to(filled, ()), value.dtype)


class MaskedScatter(Op):
    """Replaces the elements where the mask holds with the elements of `tensor`, in order."""

    examples = (case("f32[4]", "bool[4]", "f32[4]"), case("f32[2,3]", "bool[3]", "f32[7]"))

    def infer(self, x: TensorType, mask: TensorType, tensor: TensorType) -> TensorType:
        check_mask(self.name, "mask", mask)
        check_spreads_to(self.name, "mask", mask, x.shape)
        check_same_dtypes(self.name, x=x, tensor=tensor)
        check_readable(self.name, tensor, x.shape)
        return x

    def lower(self, x: Array, mask: Array, tensor: Array) -> Array:
        if not x.size:
            return jnp.asarray(x)
        wide = jnp.broadcast_to(mask, x.shape)
        places = jnp.cumsum(wide.ravel(), dtype=jnp.int64).reshape(x.shape) - 1
        source = jnp.ravel(tensor).at[places].get(mode="clip")
        return jnp.where(wide, source, x)


class NonZero(Op):
    """Indices of the nonzero elements, one row per element."""

    differentiable = False
    host_only = True
    examples = (case("f32[2,3]"), case("bool[4]"), case("i32[0]"))

    def lower(self, input: Array) -> Array:
        raise problem(
            RuntimeError,
            "NonZero: the shape of the result depends on the values of the input",
            fix="call it outside of compiled code, or use select with a mask",
        )

    def host(self, input: Any) -> Any:
        return np.argwhere(input).astype(int64.numpy)


class MaskedSelect(Primitive):
    """Elements where the mask holds, as a 1-D tensor."""

    def __call__(self, input: Any, mask: Any) -> Any:
        return masked_select(input, mask)


def check_mask(owner: str, argument: str, mask: TensorType) -> None:
    """Raises an error if the mask is not bool."""
    if mask.dtype is not bool_:
        raise problem(
            TypeError,
            f"{owner}: the {argument} must be bool",
            got=str(mask),
            fix=f"compare it with a value, such as {argument} != 0",
        )


def select(condition: Any, input: Any, other: Any) -> Any:
    """`input` where the condition holds, `other` elsewhere."""
    return Select.of()(condition, input, other)


def where(condition: Any, input: Any, other: Any) -> Any:
    """`input` where the condition holds, `other` elsewhere."""
    return Select.of()(condition, input, other)


def masked_fill(input_x: Any, mask: Any, value: Any) -> Any:
    """`value` where the mask holds, `input_x` elsewhere."""
    check_tensors("masked_fill", input_x=input_x)
    one = value if isinstance(value, TensorProtocol) else scalar_to_tensor(value, input_x.dtype)
    return MaskedFill.of()(input_x, mask, one)


def masked_select(input: Any, mask: Any) -> Any:
    """Elements of `input` where the mask holds, as a 1-D tensor."""
    check_tensors("masked_select", input=input, mask=mask)
    check_mask("MaskedSelect", "mask", TensorType(mask.dtype, mask.shape))
    shape = broadcast(input.shape, mask.shape, op="MaskedSelect")
    places = nonzero(reshape(broadcast_to(mask, shape), (-1,)))
    elements = reshape(broadcast_to(input, shape), (-1,))
    return gather(elements, reshape(places, (-1,)), 0)


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """Indices of the nonzero elements: one row per element, or a tuple with one tensor per axis."""
    indices = NonZero.of()(input)
    return unstack(indices, 1) if as_tuple else indices


def argwhere(input: Any) -> Any:
    """Indices of the nonzero elements, one row per element."""
    return NonZero.of()(input)
