"""Side effects: execution order, printing, and overflow flags."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import float32
from mycelia._engine.ir.example import case
from mycelia._engine.ir.handlers import run_effect
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op

_STATUS = TensorType(float32, (8,))


class Depend(Primitive):
    """Returns `value`, computed after `expr`."""

    def __call__(self, value: Any, expr: Any) -> Any:
        return value


class Print(Primitive):
    """Prints each argument on a separate line."""

    def __call__(self, *values: Any) -> None:
        tensors = [v for v in values if isinstance(v, TensorProtocol)]

        def show(*given: Any) -> None:
            rest = iter(given)
            for value in values:
                print(repr(next(rest)) if isinstance(value, TensorProtocol) else value, flush=True)

        run_effect(show, "print", *tensors)


class OverflowFlags(Op, register=False):
    """Overflow flags of an accelerator, always clear, since overflow is detected in the values."""

    differentiable = False

    def infer(self, *args: TensorType) -> TensorType:
        return _STATUS


class NPUAllocFloatStatus(OverflowFlags):
    """New overflow flags."""

    examples = (case(),)

    def lower(self) -> Array:
        return jnp.zeros(_STATUS.shape, jnp.float32)


class NPUGetFloatStatus(OverflowFlags):
    """Overflow flags since they were last cleared."""

    examples = (case("f32[8]"),)

    def lower(self, input: Array) -> Array:
        return jnp.zeros(_STATUS.shape, jnp.float32)


class NPUClearFloatStatus(OverflowFlags):
    """Clears the overflow flags."""

    examples = (case("f32[8]"),)

    def lower(self, input: Array) -> Array:
        return jnp.zeros(_STATUS.shape, jnp.float32)


def depend(value: Any, expr: Any) -> Any:
    """Returns `value`, computed after `expr`."""
    return value


def print_(*input_x: Any) -> None:
    """Prints each argument on a separate line."""
    Print()(*input_x)
