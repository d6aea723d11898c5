"""The values operators take and give, seen from below: a Tensor without its methods."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import wrong_type
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.types import TensorType


class TensorProtocol:
    """What every tensor is to the operator layer: something with a dtype and a shape."""

    shape: Shape
    dtype: DType


def type_of(value: TensorProtocol) -> TensorType:
    """The dtype and shape of a value as a type."""
    return TensorType(value.dtype, value.shape)


def check_tensors(owner: str, **arguments: Any) -> None:
    """Refuse what is not a tensor, before a function asks for its shape or dtype."""
    for argument, value in arguments.items():
        if not isinstance(value, TensorProtocol):
            raise wrong_type(owner, argument, value, "Tensor")
