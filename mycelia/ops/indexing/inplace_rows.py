"""Row updates at static indices, on a copy of the tensor: inplace_update, inplace_add."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import as_shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array
from mycelia._engine.operators.index_arguments import write_at
from mycelia._engine.operators.operator import Op


class InplaceUpdate(Op):
    """Replaces rows of `x` with the rows of `v`, in a new tensor."""

    indices: tuple[int, ...]
    verb = "set"
    examples = (case("f32[3,2]", "f32[2,2]", indices=(0, 2)), case("f32[3]", "f32[1]", indices=1))

    def normalize(self) -> dict[str, Any]:
        return {"indices": as_shape(self.indices, type(self).__name__)}

    def infer(self, x: TensorType, v: TensorType) -> TensorType:
        if not x.ndim or v.shape != (len(self.indices), *x.shape[1:]):
            raise problem(
                ValueError,
                f"{self.name}: v must have one row for each index",
                got=f"x {x}, v {v}, indices {self.indices}",
            )
        if v.dtype is not x.dtype:
            raise problem(TypeError, f"{self.name}: the dtypes differ", got=f"x {x}, v {v}")
        if any(not 0 <= i < x.shape[0] for i in self.indices):
            raise problem(
                ValueError,
                f"{self.name}: an index is out of range",
                got=f"indices {self.indices} for {x.shape[0]} rows",
            )
        return x

    def lower(self, x: Array, v: Array) -> Array:
        return write_at(x, np.array(self.indices), v, self.verb)


class InplaceAdd(InplaceUpdate):
    """Adds the rows of `v` to rows of `x`, in a new tensor."""

    verb = "add"


class InplaceSub(InplaceUpdate):
    """Subtracts the rows of `v` from rows of `x`, in a new tensor."""

    verb = "subtract"


def inplace_update(x: Any, v: Any, indices: Any) -> Any:
    """Replaces the rows `indices` of `x` with `v`, in a new tensor."""
    return InplaceUpdate.of(freeze(indices))(x, v)


def inplace_add(x: Any, v: Any, indices: Any) -> Any:
    """Adds `v` to the rows `indices` of `x`, in a new tensor."""
    return InplaceAdd.of(freeze(indices))(x, v)


def inplace_sub(x: Any, v: Any, indices: Any) -> Any:
    """Subtracts `v` from the rows `indices` of `x`, in a new tensor."""
    return InplaceSub.of(freeze(indices))(x, v)
