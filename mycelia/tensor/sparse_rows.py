"""RowTensor, a tensor with few nonzero rows, and SparseTensor, the old name of COOTensor."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.shape import Shape
from mycelia.tensor.sparse_matrix import COOTensor
from mycelia.tensor.tensor import Tensor


class RowTensor(CheckedKeywords):
    """Row-sparse tensor: `values[i]` is the row `indices[i]`; all other rows are 0."""

    indices: Tensor
    values: Tensor
    dense_shape: Shape

    def __init__(
        self,
        indices: Any = None,
        values: Any = None,
        shape: Any = None,
        row_tensor: RowTensor | None = None,
    ) -> None:
        if row_tensor is not None:
            if not isinstance(row_tensor, RowTensor):
                raise wrong_type("RowTensor", "row_tensor", row_tensor, "RowTensor")
            indices, values, shape = row_tensor.indices, row_tensor.values, row_tensor.dense_shape
        for name, part in (("indices", indices), ("values", values)):
            if not isinstance(part, Tensor):
                raise wrong_type("RowTensor", name, part, "Tensor")
        if not isinstance(shape, tuple):
            raise wrong_type("RowTensor", "shape", shape, "tuple")
        if not indices.dtype.is_integer:
            raise problem(
                TypeError, "For RowTensor, 'indices' must be integers", got=str(indices.dtype)
            )
        if values.shape != (*indices.shape, *shape[1:]) or indices.ndim != 1:
            raise problem(
                ValueError,
                "For RowTensor, there must be one row for each index",
                got=f"indices {indices.shape}, values {values.shape}, shape {shape}",
            )
        self.indices, self.values, self.dense_shape = indices, values, shape

    def to_dense(self) -> Tensor:
        """Convert to a dense tensor; rows with equal indices are summed."""
        return ops.scatter_nd(self.indices.reshape(-1, 1), self.values, self.dense_shape)

    def __repr__(self) -> str:
        return (
            f"RowTensor(shape={list(self.dense_shape)}, dtype={self.values.dtype}, "
            f"indices={self.indices!r}, values={self.values!r})"
        )


class SparseTensor(COOTensor):
    """The old name of COOTensor."""

    def __init__(self, indices: Tensor, values: Tensor, shape: Shape) -> None:
        super().__init__(indices, values, shape)
