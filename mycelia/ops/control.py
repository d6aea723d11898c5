"""Operators about order, printing and device flags rather than numbers."""

from __future__ import annotations

from typing import Any

from mycelia.core.dtype import float32
from mycelia.ir.example import case
from mycelia.ir.primitive import Primitive
from mycelia.ir.slot import effect
from mycelia.ir.types import TensorType
from mycelia.ir.value import Value
from mycelia.ops.engine import Array, jnp
from mycelia.ops.op import Op

_STATUS = TensorType(float32, (8,))


class Depend(Primitive):
    """The first value, computed after the second."""

    def __call__(self, value: Any, expr: Any) -> Any:
        return value


class Print(Primitive):
    """Print each argument on its own line."""

    def __call__(self, *values: Any) -> None:
        tensors = [v for v in values if isinstance(v, Value)]

        def show(*given: Any) -> None:
            rest = iter(given)
            for value in values:
                print(repr(next(rest)) if isinstance(value, Value) else value, flush=True)

        effect(show, "print", *tensors)


class OverflowFlags(Op, register=False):
    """The overflow flags of an accelerator, all clear: overflow is found in the numbers here."""

    differentiable = False

    def infer(self, *args: TensorType) -> TensorType:
        return _STATUS


class NPUAllocFloatStatus(OverflowFlags):
    """Fresh overflow flags."""

    examples = (case(),)

    def lower(self) -> Array:
        return jnp.zeros(_STATUS.shape, jnp.float32)


class NPUGetFloatStatus(OverflowFlags):
    """The overflow flags since they were last cleared."""

    examples = (case("f32[8]"),)

    def lower(self, input: Array) -> Array:
        return jnp.zeros(_STATUS.shape, jnp.float32)


class NPUClearFloatStatus(OverflowFlags):
    """The overflow flags, cleared."""

    examples = (case("f32[8]"),)

    def lower(self, input: Array) -> Array:
        return jnp.zeros(_STATUS.shape, jnp.float32)


def depend(value: Any, expr: Any) -> Any:
    """The first value, computed after the second."""
    return value


def print_(*input_x: Any) -> None:
    """Print each argument on its own line."""
    Print()(*input_x)
