"""Vector-Jacobian products of single operators, including those of integer inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia._engine.core.dtype import int32, int64
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.shapes.reshape import Cast


class IntegerVjp(Op, register=False):
    """Vector-Jacobian product of an operator's `lower` for integer inputs.

    The product is computed as if these inputs were floating point and converted back to integers,
    which wrap around. An input that `lower` accepts only as integers, such as indices, has no
    gradient.
    """

    op: Primitive
    static_values: tuple[Any, ...]
    positions: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"IntegerVjp({self.op.name})"

    def lower(self, *args: Any) -> tuple[Any, ...]:
        *inputs, dout = args
        return tuple([self._gradient(inputs, position, dout) for position in self.positions])

    def _gradient(self, inputs: list[Any], position: int, dout: Any) -> Any:
        value = inputs[position]

        def run(fractions: Any) -> Any:
            full = (*inputs[:position], fractions, *inputs[position + 1 :])
            result = self.op.lower(*self.op.arguments.merge(full, self.static_values))
            return result[0] if self.op.writes else result

        fractions = jax.tree.map(lambda a: a.astype(jnp.float64), value)
        try:
            result, pull = jax.vjp(run, fractions)
        except (TypeError, ValueError, IndexError):  # the input must be integer, such as indices
            return jax.tree.map(jnp.zeros_like, value)
        (gradient,) = pull(jax.tree.map(_cotangent, result, dout))
        whole = not any(jnp.issubdtype(d.dtype, jnp.inexact) for d in jax.tree.leaves(dout))
        like = value if whole else jax.tree.map(lambda _: jax.tree.leaves(dout)[0], value)
        return jax.tree.map(_converted, gradient, like)


def gradients(
    op: Primitive,
    data: tuple[Any, ...],
    static: tuple[Any, ...],
    out: Any,
    dout: Any,
    wanted: Sequence[bool],
) -> tuple[Any, ...]:
    """The gradients of the data inputs of one call; unneeded ones may be None.

    The gradient of an integer is an integer if the operator handles only integers.
    """
    dout = _countable(dout)
    grads = op.grad(*op.arguments.merge(data, static), out, dout)
    if len(grads) > len(data):
        grads = tuple([g for i, g in enumerate(grads) if i not in op.arguments.static])
    whole = [i for i, value in enumerate(data) if i < len(grads) and wanted[i] and _is_whole(value)]
    if not whole:
        return grads
    result = list(grads)
    if type(op).grad is Op.grad:
        vjp = IntegerVjp.of(op, static, tuple(whole))
        pairs = zip(whole, vjp(*data, dout), strict=True)
    else:
        keeps = op.integer_gradients and _is_whole(dout)
        pairs = zip(whole, [_fitting(grads[i], data[i], keeps) for i in whole], strict=True)
    for position, grad in pairs:
        result[position] = grad
    return tuple(result)


def _countable(dout: Any) -> Any:
    """Output gradients that can be added: bools are converted to 0 and 1."""
    if isinstance(dout, (tuple, list)):
        return tuple(map(_countable, dout))
    return (
        Cast.of()(dout, int32) if isinstance(dout, TensorProtocol) and dout.dtype.is_bool else dout
    )


def _is_whole(value: Any) -> bool:
    """Whether a value consists of only integers and bools."""
    if isinstance(value, (tuple, list)):
        tensors = [v for v in value if v is not None]
        return bool(tensors) and all(map(_is_whole, tensors))
    return isinstance(value, TensorProtocol) and not value.dtype.is_inexact


def _fitting(grad: Any, value: Any, keeps: bool) -> Any:
    """The gradient in the dtype of an integer input, if it was derived from integer gradients."""
    if isinstance(grad, (tuple, list)):
        return tuple([_fitting(g, v, keeps) for g, v in zip(grad, value, strict=True)])
    if grad is None or not keeps or grad.dtype is value.dtype:
        return grad
    return Cast.of()(grad, value.dtype)


def _cotangent(result: Array, dout: Array) -> Any:
    """A cotangent of the dtype that the floating point computation returns."""
    if jnp.issubdtype(result.dtype, jnp.inexact):
        return dout.astype(result.dtype)
    return jnp.zeros(result.shape, jax.dtypes.float0)


def _converted(gradient: Array, like: Array) -> Array:
    if like.dtype == jnp.bool_:
        return gradient != 0
    if jnp.issubdtype(like.dtype, jnp.inexact):
        return gradient.astype(like.dtype)
    return gradient.astype(int64.numpy).astype(like.dtype)
