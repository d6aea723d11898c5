"""Layers of matrices: determinant, inverse, diagonals."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia.nn.cell import Cell


class MatDet(Cell):
    """The determinant of each matrix."""

    def construct(self, a: Any) -> Any:
        return ops.det(a)


class MatInverse(Cell):
    """The inverse of each matrix."""

    def construct(self, a: Any) -> Any:
        return ops.inverse(a)


class MatrixDiag(Cell):
    """Matrices with the rows of x on their diagonals."""

    def construct(self, input_x: Any) -> Any:
        return ops.matrix_diag(input_x)


class MatrixDiagPart(Cell):
    """The diagonal of each matrix."""

    def construct(self, input_x: Any) -> Any:
        return ops.diagonal(input_x, 0, -2, -1)


class MatrixSetDiag(Cell):
    """Matrices with other diagonals."""

    def construct(self, input_x: Any, diagonal: Any) -> Any:
        return ops.matrix_set_diag(input_x, diagonal)
