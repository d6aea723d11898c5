"""Matrices from packed diagonals and back: matrix_diag, matrix_diag_part, matrix_set_diag.

Row 0 of the packed matrix is the highest diagonal. Diagonals shorter than the longest are moved to
the left or right end of their row, as `align` says for those above and below the main one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mycelia._engine.core.checks import check_string
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import Shape, as_shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.tensor_protocol import TensorProtocol, check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import check_same_dtypes, check_shape
from mycelia.ops.shapes.reshape import scalar_to_tensor

_ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


class Band(NamedTuple):
    """The diagonals `low` to `high` of a matrix, and how short ones are aligned."""

    rows: int
    columns: int
    low: int
    high: int
    align: str

    @property
    def width(self) -> int:
        """The length of the longest diagonal."""
        return max((self.length(d) for d in range(self.low, self.high + 1)), default=0)

    def length(self, diagonal: int) -> int:
        return min(self.rows + min(diagonal, 0), self.columns - max(diagonal, 0))

    def packed_shape(self, lead: Shape) -> Shape:
        count = self.high - self.low + 1
        return (*lead, self.width) if self.low == self.high else (*lead, count, self.width)

    def inside(self) -> np.ndarray:
        """Mask of the matrix elements that lie in the band."""
        distance = np.arange(self.columns)[None, :] - np.arange(self.rows)[:, None]
        return (distance >= self.low) & (distance <= self.high)

    def packed_indices(self) -> tuple[np.ndarray, np.ndarray]:
        """Packed row and column of each matrix element in the band, in order."""
        rows, columns = np.nonzero(self.inside())
        distance = columns - rows
        along = np.minimum(rows, columns)
        above, below = self.align.split("_")
        lengths = np.minimum(
            self.rows + np.minimum(distance, 0), self.columns - np.maximum(distance, 0)
        )
        right = np.where(distance >= 0, above == "RIGHT", below == "RIGHT")
        shift = np.where(right, self.width - lengths, 0)
        return self.high - distance, along + shift


class MatrixDiagV3(Op):
    """Matrices from packed diagonals, with a padding value elsewhere."""

    static = ("k", "num_rows", "num_cols")
    align: str = "RIGHT_LEFT"
    examples = (
        case("f32[2,3]", 0, -1, -1, "f32[]"),
        case("f32[3,3]", (-1, 1), 3, 3, "f32[]"),
        case("f32[2,2]", (0, 1), 2, 3, "f32[]", align="LEFT_LEFT"),
    )

    def normalize(self) -> dict[str, Any]:
        check_string("MatrixDiagV3", "align", self.align, _ALIGNMENTS)
        return {}

    def infer(
        self, x: TensorType, k: Any, num_rows: Any, num_cols: Any, padding_value: TensorType
    ) -> TensorType:
        band = self._band(x.shape, k, num_rows, num_cols)
        lead = x.shape[:-1] if band.low == band.high else x.shape[:-2]
        check_shape(self.name, "padding_value", padding_value, ())
        return x.with_shape((*lead, band.rows, band.columns))

    def lower(self, x: Array, k: Any, num_rows: Any, num_cols: Any, padding_value: Array) -> Array:
        band = self._band(x.shape, k, num_rows, num_cols)
        packed = jnp.expand_dims(x, -2) if band.low == band.high else jnp.asarray(x)
        shape = (*packed.shape[:-2], band.rows, band.columns)
        blank = jnp.broadcast_to(jnp.asarray(padding_value, x.dtype), shape)
        return _unpack(band, packed, blank)

    def _band(self, shape: Shape, k: Any, num_rows: Any, num_cols: Any) -> Band:
        low, high = _ends(self.name, k)
        if len(shape) < (1 if low == high else 2):
            raise wrong_value(self.name, "x", shape, "one axis for each diagonal axis")
        if low != high and shape[-2] != high - low + 1:
            raise wrong_value(self.name, "x", shape, f"{high - low + 1} diagonals for k={k}")
        least_rows = shape[-1] - min(high, 0)
        least_columns = shape[-1] + max(low, 0)
        rows = least_rows if num_rows == -1 else num_rows
        columns = least_columns if num_cols == -1 else num_cols
        if num_rows == num_cols == -1:
            rows = columns = max(least_rows, least_columns)
        fits = rows == least_rows or columns == least_columns
        if not fits or rows < least_rows or columns < least_columns:
            raise problem(
                ValueError,
                f"{self.name}: the numbers of rows and columns do not match the diagonals",
                got=f"{rows} rows, {columns} columns for diagonals of shape {list(shape)}, k={k}",
                expected=f"{least_rows} rows or {least_columns} columns",
            )
        return Band(rows, columns, low, high, self.align)


class MatrixDiagPartV3(Op):
    """Packed diagonals k[0] to k[1] of matrices; a padding value fills up short ones."""

    static = ("k",)
    align: str = "RIGHT_LEFT"
    examples = (
        case("f32[2,3,3]", 0, "f32[]"),
        case("f32[3,4]", (-1, 2), "f32[]"),
        case("f32[3,4]", (-1, 1), "f32[]", align="LEFT_RIGHT"),
    )

    def normalize(self) -> dict[str, Any]:
        check_string("MatrixDiagPartV3", "align", self.align, _ALIGNMENTS)
        return {}

    def infer(self, x: TensorType, k: Any, padding_value: TensorType) -> TensorType:
        check_shape(self.name, "padding_value", padding_value, ())
        return x.with_shape(_band_of(self.name, x.shape, k, self.align).packed_shape(x.shape[:-2]))

    def lower(self, x: Array, k: Any, padding_value: Array) -> Array:
        band = _band_of(self.name, x.shape, k, self.align)
        count = band.high - band.low + 1
        shape = (*x.shape[:-2], count, band.width)
        packed = jnp.broadcast_to(jnp.asarray(padding_value, x.dtype), shape)
        found = jnp.asarray(x)[(..., *np.nonzero(band.inside()))]
        packed = packed.at[(..., *band.packed_indices())].set(found)
        return packed.reshape(band.packed_shape(x.shape[:-2]))


class MatrixSetDiagV3(Op):
    """Replaces the diagonals k[0] to k[1] of matrices by packed ones."""

    static = ("k",)
    align: str = "RIGHT_LEFT"
    examples = (
        case("f32[3,3]", "f32[3]", 0),
        case("f32[2,3,4]", "f32[2,3,3]", (-1, 1)),
    )

    def normalize(self) -> dict[str, Any]:
        check_string("MatrixSetDiagV3", "align", self.align, _ALIGNMENTS)
        return {}

    def infer(self, x: TensorType, diagonal: TensorType, k: Any) -> TensorType:
        wanted = _band_of(self.name, x.shape, k, self.align).packed_shape(x.shape[:-2])
        if diagonal.shape != wanted:
            raise problem(
                ValueError,
                f"{self.name}: the diagonals do not match the matrix",
                got=f"x {x}, diagonal {diagonal}, k={k}",
                expected=f"diagonals of shape {list(wanted)}",
            )
        check_same_dtypes(self.name, x=x, diagonal=diagonal)
        return x

    def lower(self, x: Array, diagonal: Array, k: Any) -> Array:
        band = _band_of(self.name, x.shape, k, self.align)
        packed = jnp.expand_dims(diagonal, -2) if band.low == band.high else jnp.asarray(diagonal)
        return _unpack(band, packed, jnp.asarray(x))


def _unpack(band: Band, packed: Array, onto: Array) -> Array:
    values = packed[(..., *band.packed_indices())]
    return onto.at[(..., *np.nonzero(band.inside()))].set(values)


def _band_of(owner: str, shape: Shape, k: Any, align: str) -> Band:
    if len(shape) < 2:
        raise problem(
            ValueError, f"{owner}: the input must have at least 2 dimensions", got=str(list(shape))
        )
    low, high = _ends(owner, k)
    rows, columns = shape[-2:]
    if not (-rows < low and high < columns) and rows and columns:
        raise wrong_value(owner, "k", k, f"from {1 - rows} to {columns - 1}")
    return Band(rows, columns, low, high, align)


def _ends(owner: str, k: Any) -> tuple[int, int]:
    ends = as_shape(freeze(k), owner)
    if len(ends) not in (1, 2) or ends[0] > ends[-1]:
        raise wrong_value(owner, "k", k, "one diagonal, or the lowest and the highest")
    return ends[0], ends[-1]


def _like(x: Any, value: Any) -> Any:
    return value if isinstance(value, TensorProtocol) else scalar_to_tensor(value, x.dtype)


def matrix_diag(
    x: Any,
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Matrices from the packed diagonals `x`, with `padding_value` elsewhere."""
    check_tensors("matrix_diag", x=x)
    return MatrixDiagV3.of(align)(x, k, num_rows, num_cols, _like(x, padding_value))


def matrix_diag_part(x: Any, k: Any, padding_value: Any, align: str = "RIGHT_LEFT") -> Any:
    """Packed diagonals `k` of `x`; `padding_value` fills up short ones."""
    return MatrixDiagPartV3.of(align)(x, k, _like(x, padding_value))


def matrix_set_diag(x: Any, diagonal: Any, k: Any = 0, align: str = "RIGHT_LEFT") -> Any:
    """Copy of `x` with its diagonals `k` replaced by the packed `diagonal`."""
    return MatrixSetDiagV3.of(align)(x, diagonal, k)
