"""Triangular parts and diagonals of matrices: tril, triu, diag, diagonal, trace, bands."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_int, is_number
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import Shape, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.elementwise.arithmetic import mul
from mycelia.ops.elementwise.complex_numbers import conj
from mycelia.ops.shapes.creation import eye, zeros
from mycelia.ops.shapes.reshape import broadcast_to, copied, reshape, scalar_to_tensor
from mycelia.ops.shapes.views import swapaxes


class Tril(Op):
    """Lower triangular part of matrices: zeros above the diagonal number `diagonal`."""

    diagonal: int = 0
    examples = (case("f32[3,3]"), case("f32[2,2,4]", diagonal=1), case("bool[2,0]"))

    def normalize(self) -> dict[str, Any]:
        check_int(type(self).__name__, "diagonal", self.diagonal)
        return {}

    def infer(self, input: TensorType) -> TensorType:
        _check_matrix(self.name, input)
        return input

    def lower(self, input: Array) -> Array:
        return jnp.tril(input, self.diagonal)

    def host(self, input: Any) -> Any:
        if input.ndim < 2:
            raise ValueError("not a matrix")
        return np.tril(input, self.diagonal)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Tril.of(self.diagonal)(dout),)


class Triu(Tril):
    """Upper triangular part of matrices: zeros below the diagonal number `diagonal`."""

    def lower(self, input: Array) -> Array:
        return jnp.triu(input, self.diagonal)

    def host(self, input: Any) -> Any:
        if input.ndim < 2:
            raise ValueError("not a matrix")
        return np.triu(input, self.diagonal)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Triu.of(self.diagonal)(dout),)


class MatrixBandPart(Op):
    """Keeps `lower` diagonals below and `upper` above the main one; -1 keeps all."""

    static = ("lower_count", "upper_count")
    examples = (case("f32[3,3]", 0, 1), case("f32[2,3,4]", -1, 0), case("f32[3,3]", 5, -1))

    def infer(self, x: TensorType, lower_count: Any, upper_count: Any) -> TensorType:
        _check_matrix(self.name, x)
        check_int(self.name, "lower", lower_count)
        check_int(self.name, "upper", upper_count)
        return x

    def lower(self, x: Array, lower_count: Any, upper_count: Any) -> Array:
        return jnp.where(_band(x.shape, lower_count, upper_count), x, jnp.zeros((), x.dtype))

    def host(self, x: Any, lower_count: Any, upper_count: Any) -> Any:
        return np.where(_band(x.shape, lower_count, upper_count), x, np.zeros((), x.dtype))

    def grad(
        self, x: Any, lower_count: Any, upper_count: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        return (MatrixBandPart.of()(dout, lower_count, upper_count),)


class Diag(Op):
    """Diagonal tensor of twice the rank of the input, with the input on its diagonal."""

    examples = (case("f32[3]"), case("f32[2,3]"), case("i32[0]"))

    def infer(self, input: TensorType) -> TensorType:
        if not input.ndim:
            raise problem(
                ValueError, "Diag: the input must have at least 1 dimension", got=str(input)
            )
        return input.with_shape(input.shape * 2)

    def lower(self, input: Array) -> Array:
        return jnp.diag(jnp.ravel(input)).reshape(input.shape * 2)

    def host(self, input: Any) -> Any:
        if not input.ndim:
            raise ValueError("a 0-d tensor")
        return np.diag(input.ravel()).reshape(input.shape * 2)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (DiagPart.of()(dout),)


class DiagPart(Op):
    """Diagonal of a tensor whose shape is one shape repeated twice; the inverse of Diag."""

    examples = (case("f32[3,3]"), case("f32[2,3,2,3]"))

    def infer(self, input_x: TensorType) -> TensorType:
        half = input_x.ndim // 2
        if not half or input_x.shape[:half] != input_x.shape[half:]:
            raise problem(
                ValueError,
                "DiagPart: the shape must be one shape repeated twice",
                got=str(input_x),
            )
        return input_x.with_shape(input_x.shape[:half])

    def lower(self, input_x: Array) -> Array:
        kept = input_x.shape[: input_x.ndim // 2]
        count = int(np.prod(kept))
        return jnp.diagonal(jnp.reshape(input_x, (count, count))).reshape(kept)

    def grad(self, input_x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Diag.of()(dout),)


class Diagonal(Op):
    """Diagonal of the matrices that axes `dim1` and `dim2` span, as the last axis."""

    offset: int = 0
    dim1: int = 0
    dim2: int = 1
    examples = (
        case("f32[2,3]"),
        case("f32[2,3,4]", offset=-1, dim1=0, dim2=2),
        case("f32[2,3]", offset=5),
    )

    def infer(self, input: TensorType) -> TensorType:
        first, second = _two_axes(self.name, input.ndim, self.dim1, self.dim2)
        rest = [n for i, n in enumerate(input.shape) if i not in (first, second)]
        count = _diagonal_length(input.shape[first], input.shape[second], self.offset)
        return input.with_shape((*rest, count))

    def lower(self, input: Array) -> Array:
        return jnp.diagonal(jnp.asarray(input), self.offset, self.dim1, self.dim2)

    def host(self, input: Any) -> Any:
        _two_axes(self.name, input.ndim, self.dim1, self.dim2)
        return copied(self.view(input))

    def view(self, input: Any) -> Any:
        return np.diagonal(input, self.offset, self.dim1, self.dim2)

    def put_back(self, input: Any, value: Any) -> Any:
        return DiagonalScatter.of(self.offset, self.dim1, self.dim2)(input, value)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        back = DiagonalScatter.of(self.offset, self.dim1, self.dim2)
        return (back(zeros(input.shape, dout.dtype), dout),)


class DiagonalScatter(Op):
    """Replaces a diagonal of the matrices that `dim1` and `dim2` span by `src`."""

    offset: int = 0
    dim1: int = 0
    dim2: int = 1
    examples = (
        case("f32[3,3]", "f32[3]"),
        case("f32[2,3,4]", "f32[3,1]", offset=-1, dim1=0, dim2=2),
    )

    def infer(self, input: TensorType, src: TensorType) -> TensorType:
        wanted = Diagonal.of(self.offset, self.dim1, self.dim2).infer(input)
        if wanted != src:
            raise problem(
                ValueError if wanted.dtype is src.dtype else TypeError,
                "diagonal_scatter: src does not match the diagonal",
                got=f"input {input}, src {src}",
                expected=f"src {wanted}",
            )
        return input

    def lower(self, input: Array, src: Array) -> Array:
        moved = jnp.moveaxis(jnp.asarray(input), (self.dim1, self.dim2), (-2, -1))
        indices = _diagonal_indices(src.shape[-1], self.offset)
        written = moved.at[(..., *indices)].set(src)
        return jnp.moveaxis(written, (-2, -1), (self.dim1, self.dim2))

    def grad(self, input: Any, src: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        blank = broadcast_to(scalar_to_tensor(0, dout.dtype), src.shape)
        to_input = DiagonalScatter.of(self.offset, self.dim1, self.dim2)(dout, blank)
        return to_input, Diagonal.of(self.offset, self.dim1, self.dim2)(dout)


class DiagEmbed(Op):
    """Puts the last axis on a diagonal of new square matrices on axes `dim1` and `dim2`."""

    offset: int = 0
    dim1: int = -2
    dim2: int = -1
    examples = (case("f32[2,3]"), case("f32[3]", offset=-1), case("f32[2,2]", dim1=0, dim2=2))

    def infer(self, input: TensorType) -> TensorType:
        if not input.ndim:
            raise problem(
                ValueError, "diag_embed: the input must have at least 1 dimension", got=str(input)
            )
        positions = _two_axes(self.name, input.ndim + 1, self.dim1, self.dim2)
        shape = list(input.shape[:-1])
        for position in sorted(positions):
            shape.insert(position, input.shape[-1] + abs(self.offset))
        return input.with_shape(tuple(shape))

    def lower(self, input: Array) -> Array:
        side = input.shape[-1] + abs(self.offset)
        blank = jnp.zeros((*input.shape[:-1], side, side), input.dtype)
        indices = _diagonal_indices(input.shape[-1], self.offset)
        return jnp.moveaxis(blank.at[(..., *indices)].set(input), (-2, -1), (self.dim1, self.dim2))

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Diagonal.of(self.offset, self.dim1, self.dim2)(dout),)


class Trace(Op):
    """Trace of a matrix: the sum of its main diagonal."""

    examples = (case("f32[3,3]"), case("f32[2,3]"), case("i8[2,2]"), case("f32[0,0]"))

    def infer(self, input: TensorType) -> TensorType:
        if input.dtype.is_bool:
            raise unsupported_dtype(self.name, input, "a matrix of numbers")
        if input.ndim != 2:
            raise problem(RuntimeError, "Trace: the input must be a matrix", got=str(input))
        return input.with_shape(())

    def lower(self, input: Array) -> Array:
        return jnp.trace(input, dtype=input.dtype)

    def grad(self, input: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        rows, columns = input.shape
        return (mul(dout, eye(rows, columns, dout.dtype)),)


class FillDiagonal(Op):
    """Fills the main diagonal with one value; `wrap` repeats the diagonal in tall matrices."""

    fill_value: float
    wrap: bool = False
    examples = (
        case("f32[3,3]", fill_value=9.0),
        case("f32[5,2]", fill_value=1.0, wrap=True),
        case("f32[2,2,2]", fill_value=2.0),
    )

    def normalize(self) -> dict[str, Any]:
        if not is_number(self.fill_value):
            raise wrong_type("FillDiagonal", "fill_value", self.fill_value, "float")
        check_bool("FillDiagonal", "wrap", self.wrap)
        return {}

    def infer(self, input_x: TensorType) -> TensorType:
        if input_x.ndim < 2 or (input_x.ndim > 2 and len(set(input_x.shape)) > 1):
            raise problem(
                ValueError,
                "FillDiagonal: the input must be a matrix, or a tensor whose sizes are all equal",
                got=str(input_x),
            )
        return input_x

    def lower(self, input_x: Array) -> Array:
        one = jnp.asarray(self.fill_value).astype(input_x.dtype)
        return jnp.where(self._mask(input_x.shape), one, input_x)

    def _mask(self, shape: Shape) -> np.ndarray:
        mask = np.zeros(shape, np.bool_)
        np.fill_diagonal(mask, True, wrap=self.wrap)
        return mask


def _check_matrix(owner: str, x: TensorType) -> None:
    if x.ndim < 2:
        raise problem(ValueError, f"{owner}: the input must have at least 2 dimensions", got=str(x))


def _two_axes(owner: str, rank: int, dim1: int, dim2: int) -> tuple[int, int]:
    first, second = (normalize_axis(d, rank, owner) for d in (dim1, dim2))
    if first == second:
        raise problem(ValueError, f"{owner}: dim1 and dim2 are the same axis", got=str(dim1))
    return first, second


def _diagonal_length(rows: int, columns: int, offset: int) -> int:
    return max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)


def _diagonal_indices(count: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
    along = np.arange(count)
    return along + max(-offset, 0), along + max(offset, 0)


def _band(shape: Shape, lower: int, upper: int) -> np.ndarray:
    rows, columns = shape[-2:]
    distance = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    below = True if lower < 0 else distance >= -lower
    above = True if upper < 0 else distance <= upper
    return np.broadcast_to(np.logical_and(below, above), (rows, columns))


def tril(input: Any, diagonal: int = 0) -> Any:
    """Lower triangular part of matrices: zeros above the diagonal number `diagonal`."""
    return Tril.of(diagonal)(input)


def triu(input: Any, diagonal: int = 0) -> Any:
    """Upper triangular part of matrices: zeros below the diagonal number `diagonal`."""
    return Triu.of(diagonal)(input)


def matrix_band_part(x: Any, lower: Any, upper: Any) -> Any:
    """Keeps `lower` diagonals below and `upper` above the main one; -1 keeps all."""
    return MatrixBandPart.of()(x, lower, upper)


def diag(input: Any) -> Any:
    """Diagonal tensor of twice the rank of `input`, with `input` on its diagonal."""
    return Diag.of()(input)


def diagflat(input: Any, offset: int = 0) -> Any:
    """Square matrix with the flattened `input` on a diagonal."""
    return DiagEmbed.of(offset)(reshape(input, (-1,)))


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Puts the last axis of `input` on a diagonal of new square matrices."""
    return DiagEmbed.of(offset, dim1, dim2)(input)


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Diagonal of the matrices that axes `dim1` and `dim2` span, as the last axis."""
    return Diagonal.of(offset, dim1, dim2)(input)


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Copy of `input` with a diagonal replaced by `src`."""
    return DiagonalScatter.of(offset, dim1, dim2)(input, src)


def adjoint(x: Any) -> Any:
    """Conjugate transpose of matrices."""
    turned = swapaxes(x, -1, -2)
    return conj(turned) if x.dtype.is_complex else turned


def trace(input: Any) -> Any:
    """Trace of a matrix: the sum of its main diagonal."""
    return Trace.of()(input)
