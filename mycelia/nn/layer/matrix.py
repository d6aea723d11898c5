"""Matrix layers: determinant, inverse, and diagonals."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia.nn.cell import Cell


class MatDet(Cell):
    """Determinant of each matrix."""

    def construct(self, a: Any) -> Any:
        return ops.det(a)


class MatInverse(Cell):
    """Inverse of each matrix."""

    def construct(self, a: Any) -> Any:
        return ops.inverse(a)


class MatrixDiag(Cell):
    """Diagonal matrices from the last axis of x."""

    def construct(self, input_x: Any) -> Any:
        return ops.matrix_diag(input_x)


class MatrixDiagPart(Cell):
    """Diagonal of each matrix."""

    def construct(self, input_x: Any) -> Any:
        return ops.diagonal(input_x, 0, -2, -1)


class MatrixSetDiag(Cell):
    """Replaces the diagonal of each matrix."""

    def construct(self, input_x: Any, diagonal: Any) -> Any:
        return ops.matrix_set_diag(input_x, diagonal)
