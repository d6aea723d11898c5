"""Layers for sparse tensors (COOTensor)."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.errors import wrong_type
from mycelia.nn.cell import Cell
from mycelia.tensor.sparse_functions import csr_mm
from mycelia.tensor.sparse_matrix import COOTensor


class SparseToDense(Cell):
    """Converts a COOTensor to a dense tensor."""

    def construct(self, sparse_tensor: Any) -> Any:
        if not isinstance(sparse_tensor, COOTensor):
            raise wrong_type("SparseToDense", "sparse_tensor", sparse_tensor, "COOTensor")
        return sparse_tensor.to_dense()


class SparseTensorDenseMatmul(Cell):
    """Product of a sparse and a dense matrix, optionally with adjoints."""

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False) -> None:
        super().__init__()
        self.adjoint_st = check_bool("SparseTensorDenseMatmul", "adjoint_st", adjoint_st)
        self.adjoint_dt = check_bool("SparseTensorDenseMatmul", "adjoint_dt", adjoint_dt)

    def construct(self, indices: Any, values: Any, sparse_shape: Any, dense: Any) -> Any:
        matrix = COOTensor(indices, values, tuple(sparse_shape)).to_csr()
        return csr_mm(matrix, dense, adjoint_a=self.adjoint_st, adjoint_b=self.adjoint_dt)
