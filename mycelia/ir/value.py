"""The values operators take and give, seen from below: a Tensor without its methods."""

from __future__ import annotations

from mycelia.core.dtype import DType
from mycelia.core.shape import Shape
from mycelia.ir.types import TensorType


class Value:
    """What every tensor is to the operator layer: something with a dtype and a shape."""

    shape: Shape
    dtype: DType


def type_of(value: Value) -> TensorType:
    """The dtype and shape of a value as a type."""
    return TensorType(value.dtype, value.shape)
