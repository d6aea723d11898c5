"""The tensor interface that operators see: a Tensor without its methods."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import wrong_type
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.types import TensorType


class TensorProtocol:
    """A tensor as seen by the operator layer: a dtype and a shape."""

    shape: Shape
    dtype: DType


def type_of(value: TensorProtocol) -> TensorType:
    """The type (dtype and shape) of a value."""
    return TensorType(value.dtype, value.shape)


def check_tensors(owner: str, **arguments: Any) -> None:
    """Raise TypeError if an argument is not a tensor, before its shape or dtype is used."""
    for argument, value in arguments.items():
        if not isinstance(value, TensorProtocol):
            raise wrong_type(owner, argument, value, "Tensor")
