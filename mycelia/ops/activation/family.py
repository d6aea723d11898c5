"""Base classes of activations: an elementwise operator with an elementwise gradient."""

from __future__ import annotations

from typing import Any, ClassVar

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.families import Unary
from mycelia._engine.operators.operator import Op


class Activation(Unary, register=False):
    """Base class of elementwise activations.

    `pull` computes the gradient from the input, the output, and `dout`.
    """

    kinds: ClassVar[tuple[str, ...]] = ("float",)

    def pull(self, x: Array, y: Array, dout: Array) -> Array:
        """The gradient: `dout` times the derivative at `x`, where the activation returned `y`."""
        raise problem(RuntimeError, f"{self.name} has no gradient")

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (ActivationGrad.of(self)(x, out, dout),)


class ActivationGrad(Op, register=False):
    """The gradient of an activation as one operator, so that it runs as one program."""

    op: Activation
    elementwise = True

    @property
    def name(self) -> str:
        return f"{self.op.name}Grad"

    def infer(self, x: TensorType, y: TensorType, dout: TensorType) -> TensorType:
        return dout

    def lower(self, x: Array, y: Array, dout: Array) -> Array:
        return self.op.pull(x, y, dout).astype(dout.dtype)


def where_number(x: Array, condition: Array, then: Any, other: Any) -> Array:
    """`then` where `condition` holds, else `other`, in the dtype of `x`."""
    return jnp.where(condition, then, other).astype(x.dtype)
