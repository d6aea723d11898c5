"""Matrix exponential and logarithm, least squares, Householder products, condition number."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.argument_types import (
    FLOATS,
    NUMBERS,
    REALS,
    check_kinds,
    check_one_number,
    check_same_dtypes,
)
from mycelia.ops.elementwise.arithmetic import div, mul
from mycelia.ops.linalg.decomposition import svd
from mycelia.ops.linalg.norms import matrix_norm, norm
from mycelia.ops.linalg.solve import inverse
from mycelia.ops.reduction.reduction import amax, amin


class MatrixExp(Op):
    """Matrix exponential of square matrices."""

    examples = (case("f32[2,2]"), case("f64[2,3,3]"), case("f16[1,1]", differentiate=False))

    def infer(self, x: TensorType) -> TensorType:
        _check_square(self.name, x)
        if not x.dtype.is_inexact:
            raise unsupported_dtype(self.name, x, "a float or complex tensor")
        return x

    def lower(self, x: Array) -> Array:
        wide = jnp.asarray(x) if jnp.iscomplexobj(x) else widened(x)
        return jax.scipy.linalg.expm(wide).astype(x.dtype)


class MatrixLogarithm(Op):
    """Matrix logarithm of square complex matrices, from their eigendecomposition."""

    differentiable = False
    examples = (case("c64[2,2]"), case("c128[2,3,3]"))

    def infer(self, x: TensorType) -> TensorType:
        _check_square(self.name, x)
        if not x.dtype.is_complex:
            raise unsupported_dtype(self.name, x, "a complex tensor")
        return x

    def lower(self, x: Array) -> Array:
        values, vectors = jnp.linalg.eig(jnp.asarray(x).astype(jnp.complex128))
        scaled = vectors * jnp.log(values)[..., None, :]
        return jnp.matmul(scaled, jnp.linalg.inv(vectors)).astype(x.dtype)


class MatrixSolveLs(Op):
    """Least-squares solution of matrix @ x = rhs with the smallest norm."""

    fast: bool = True
    examples = (
        case("f32[4,2]", "f32[4,3]", "f64[]:unit", tolerance=1e-2),
        case("f64[2,4]", "f64[2,1]", "f64[]:unit", tolerance=1e-2),
        case("f32[3,2]", "f32[3,1]", "f64[]:zeros", fast=False, differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool("MatrixSolveLs", "fast", self.fast)
        return {}

    def infer(self, matrix: TensorType, rhs: TensorType, l2_regularizer: TensorType) -> TensorType:
        if matrix.ndim < 2 or rhs.ndim != matrix.ndim or rhs.shape[:-1] != matrix.shape[:-1]:
            raise problem(
                ValueError,
                "MatrixSolveLs: matrix and right side do not match",
                got=f"matrix {matrix}, rhs {rhs}",
                expected="shapes (*, M, N) and (*, M, K)",
            )
        check_kinds(self.name, (*FLOATS, "complex"), matrix=matrix)
        check_same_dtypes(self.name, matrix=matrix, rhs=rhs)
        check_one_number(self.name, "l2_regularizer", l2_regularizer)
        check_kinds(self.name, REALS, l2_regularizer=l2_regularizer)
        return matrix.with_shape((*matrix.shape[:-2], matrix.shape[-1], rhs.shape[-1]))

    def lower(self, matrix: Array, rhs: Array, l2_regularizer: Array) -> Array:
        a, b = jnp.asarray(matrix), jnp.asarray(rhs)
        if not self.fast:
            return jnp.matmul(jnp.linalg.pinv(a), b).astype(a.dtype)
        adjoint = jnp.conj(jnp.swapaxes(a, -1, -2))
        rows, columns = a.shape[-2:]
        amount = jnp.reshape(l2_regularizer, ()).astype(a.dtype)
        ridge = jnp.eye(min(rows, columns), dtype=a.dtype) * amount
        if rows >= columns:
            return jnp.linalg.solve(adjoint @ a + ridge, adjoint @ b)
        return adjoint @ jnp.linalg.solve(a @ adjoint + ridge, b)


class Ormqr(Op):
    """Product of `other` with the orthogonal matrix of Householder vectors and factors."""

    left: bool = True
    transpose: bool = False
    examples = (
        case("f32[3,2]", "f32[2]", "f32[3,4]", differentiate=False),
        case("f64[2,3,3]", "f64[2,3]", "f64[2,4,3]", left=False, differentiate=False),
        case("f32[3,2]", "f32[2]", "f32[3,2]", transpose=True, differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool("Ormqr", "left", self.left)
        check_bool("Ormqr", "transpose", self.transpose)
        return {}

    def infer(self, x: TensorType, tau: TensorType, other: TensorType) -> TensorType:
        side = other.shape[-2 if self.left else -1] if other.ndim > 1 else -1
        check_kinds(self.name, (*FLOATS, "complex"), x=x)
        check_same_dtypes(self.name, x=x, tau=tau, other=other)
        lead = x.shape[:-2]
        fits = x.ndim == other.ndim == tau.ndim + 1 and tau.shape[:-1] == lead == other.shape[:-2]
        if x.ndim < 2 or x.shape[-2] != side or not fits or tau.shape[-1] > min(x.shape[-2:]):
            raise problem(
                ValueError,
                "Ormqr: the matrices do not match",
                got=f"x {x}, tau {tau}, other {other}",
                expected="as many rows of x as the product needs, and a number of tau for each "
                "column of x at most",
            )
        return other

    def lower(self, x: Array, tau: Array, other: Array) -> Array:
        rows, count = x.shape[-2], tau.shape[-1]
        empty = [(0, 0)] * (x.ndim - 1)
        square = jnp.pad(jnp.asarray(x)[..., :count], [*empty, (0, rows - count)])
        factors = jnp.pad(jnp.asarray(tau), [*empty[:-1], (0, rows - count)])
        q = lax.linalg.householder_product(square, factors)
        if self.transpose:
            q = jnp.conj(jnp.swapaxes(q, -1, -2))
        return jnp.matmul(q, other) if self.left else jnp.matmul(other, q)


class TridiagonalMatMul(Op):
    """Product of a tridiagonal matrix, stored as three diagonals (..., 1, M), with a matrix."""

    examples = (
        case("f32[1,3]", "f32[1,3]", "f32[1,3]", "f32[3,2]"),
        case("f64[2,1,2]", "f64[2,1,2]", "f64[2,1,2]", "f64[2,2,2]"),
    )

    def infer(
        self, superdiag: TensorType, maindiag: TensorType, subdiag: TensorType, rhs: TensorType
    ) -> TensorType:
        wanted = (*rhs.shape[:-2], 1, rhs.shape[-2]) if rhs.ndim > 1 else None
        if any(d.shape != wanted for d in (superdiag, maindiag, subdiag)):
            raise problem(
                ValueError,
                "TridiagonalMatMul: the diagonals do not match the matrix",
                got=f"{superdiag}, {maindiag}, {subdiag} and rhs {rhs}",
                expected="three diagonals of shape (..., 1, M) for a matrix (..., M, N)",
            )
        diagonals = {"superdiag": superdiag, "maindiag": maindiag, "subdiag": subdiag}
        check_kinds(self.name, NUMBERS, rhs=rhs)
        check_same_dtypes(self.name, rhs=rhs, **diagonals)
        return rhs

    def lower(self, superdiag: Array, maindiag: Array, subdiag: Array, rhs: Array) -> Array:
        above, main, below = (jnp.swapaxes(d, -1, -2) for d in (superdiag, maindiag, subdiag))
        blank = jnp.zeros_like(rhs[..., :1, :])
        following = jnp.concatenate([rhs[..., 1:, :], blank], axis=-2)
        preceding = jnp.concatenate([blank, rhs[..., :-1, :]], axis=-2)
        return above * following + main * rhs + below * preceding


class NuclearNorm(Op):
    """Nuclear norm over two axes: the sum of the singular values."""

    dim: Shape | None = None
    keepdim: bool = False
    examples = (
        case("f32[2,3]"),
        case("f64[2,3,2]", dim=(0, 2), keepdim=True),
        case("f32[2,2,3]", dim=(1, -1)),
    )

    def lower(self, x: Array) -> Array:
        if (self.dim is None and x.ndim != 2) or (self.dim is not None and len(self.dim) != 2):
            raise problem(
                ValueError,
                "NuclearNorm: dim must name two axes",
                got=f"dim={self.dim} for {x.shape}",
            )
        axes = tuple(normalize_axis(a, x.ndim, "NuclearNorm") for a in self.dim or (0, 1))
        if axes[0] == axes[1]:
            raise problem(ValueError, "NuclearNorm: the two axes must differ", got=str(self.dim))
        matrices = jnp.moveaxis(jnp.asarray(x), axes, (-2, -1))
        found = jnp.sum(jnp.linalg.svd(matrices, compute_uv=False), axis=-1)
        return jnp.expand_dims(found, tuple(sorted(axes))) if self.keepdim else found


class ConjugateTranspose(Op):
    """Permutes the axes and conjugates the elements."""

    static = ("perm",)
    examples = (case("c64[2,3]", (1, 0)), case("f32[2,3,4]", (2, 0, 1)))

    def infer(self, x: TensorType, perm: Any) -> TensorType:
        if sorted(perm) != list(range(x.ndim)):
            raise problem(
                ValueError,
                "ConjugateTranspose: perm must be a permutation of the axes",
                got=f"{perm}",
            )
        return x.with_shape(tuple(x.shape[p] for p in perm))

    def lower(self, x: Array, perm: Any) -> Array:
        return jnp.transpose(jnp.conj(x) if jnp.iscomplexobj(x) else jnp.asarray(x), perm)


def matrix_exp(input: Any) -> Any:
    """Matrix exponential of square matrices."""
    return MatrixExp.of()(input)


def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """Product of `other` with the orthogonal matrix of Householder vectors and factors."""
    return Ormqr.of(left, transpose)(input, tau, other)


def cond(A: Any, p: Any = None) -> Any:
    """Condition number of matrices: the norm times the norm of the inverse."""
    if not isinstance(A, TensorProtocol) or len(A.shape) < 2:
        raise problem(TypeError, "cond: A must be a Tensor of matrices", got=repr(A))
    if p in (None, 2, -2):
        values = svd(A, compute_uv=False)
        largest, smallest = amax(values, -1), amin(values, -1)
        return div(smallest, largest) if p == -2 else div(largest, smallest)
    _check_square("cond", A)
    if p == "nuc" or p == "fro":
        return mul(norm(A, p, (-2, -1)), norm(inverse(A), p, (-2, -1)))
    return mul(matrix_norm(A, freeze(p)), matrix_norm(inverse(A), freeze(p)))


def _check_square(owner: str, x: Any) -> None:
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise problem(
            ValueError,
            f"{owner}: the matrices must be square",
            got=f"shape {list(x.shape)}",
        )
