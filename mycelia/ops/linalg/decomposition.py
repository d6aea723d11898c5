"""Matrix decompositions: Cholesky, QR, SVD, eigenvalues, LU, and the pseudo-inverse."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.dtype import complex64, complex128
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.dot import check_matrices
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.argument_types import check_axes, check_same_dtypes
from mycelia.ops.linalg.solve import row_order

_HALVES = ("float16", "bfloat16")


class Cholesky(Op):
    """Cholesky decomposition: the triangular L with L L^H = x, or U with U^H U = x."""

    upper: bool = False
    examples = (
        case("f32[2,2]:definite"),
        case("f32[1,1,1]:definite", upper=True),
        case("f32[0,2,2]:definite"),
    )

    def normalize(self) -> dict[str, Any]:
        return {"upper": check_bool(self.name, "upper", self.upper)}

    def infer(self, x: TensorType) -> TensorType:
        _check(self.name, x, square=True)
        return x

    def lower(self, x: Array) -> Array:
        return jnp.linalg.cholesky(x, upper=self.upper)


class Qr(Op):
    """QR decomposition: an orthogonal and an upper triangular factor."""

    full_matrices: bool = False
    examples = (
        case("f32[3,2]"),
        case("f32[2,2,3]", differentiate=False),
        case("f32[3,2]", full_matrices=True, differentiate=False),
    )

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        _check(self.name, x)
        *batch, rows, columns = x.shape
        inner = rows if self.full_matrices else min(rows, columns)
        return x.with_shape((*batch, rows, inner)), x.with_shape((*batch, inner, columns))

    def lower(self, x: Array) -> tuple[Array, ...]:
        mode = "complete" if self.full_matrices else "reduced"
        return tuple(jnp.linalg.qr(x, mode=mode))


class Svd(Op):
    """Singular value decomposition: the values, and the left and right vectors (as columns)."""

    full_matrices: bool = False
    compute_uv: bool = True
    examples = (
        case("f32[3,2]"),
        case("f32[2,2,3]", compute_uv=False),
        case("f32[3,2]", full_matrices=True, differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool(self.name, "full_matrices", self.full_matrices)
        return {"compute_uv": check_bool(self.name, "compute_uv", self.compute_uv)}

    def infer(self, x: TensorType) -> Any:
        _check(self.name, x)
        return super().infer(x)

    def lower(self, x: Array) -> tuple[Array, ...]:
        if not self.compute_uv:
            values = jnp.linalg.svd(x, compute_uv=False)
            return values, jnp.zeros((1,), x.dtype), jnp.zeros((1,), x.dtype)
        left, values, right = jnp.linalg.svd(x, full_matrices=self.full_matrices)
        return values, left, jnp.conj(jnp.swapaxes(right, -1, -2))


class Eig(Op):
    """Eigenvalues and eigenvectors (as columns) of general square matrices, always complex."""

    compute_v: bool = False
    differentiable = False
    examples = (case("f32[2,2]"), case("f32[2,2]", compute_v=True))

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        _check(self.name, x, square=True)
        wide = complex64 if x.dtype.bits == 32 or x.dtype is complex64 else complex128
        vectors = x.shape if self.compute_v else ()
        return TensorType(wide, x.shape[:-1]), TensorType(wide, vectors)

    def lower(self, x: Array) -> tuple[Array, ...]:
        values, vectors = jnp.linalg.eig(x)
        return values, vectors if self.compute_v else jnp.zeros((), values.dtype)


class Geqrf(Op):
    """QR decomposition in LAPACK's packed format: R, the reflectors below it, and their scales."""

    differentiable = False
    examples = (case("f32[3,2]"), case("f32[2,2,3]"))

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        _check(self.name, x)
        return x, x.with_shape((*x.shape[:-2], min(x.shape[-2:])))

    def lower(self, x: Array) -> tuple[Array, ...]:
        reflectors, scales = jnp.linalg.qr(x, mode="raw")
        return jnp.swapaxes(reflectors, -1, -2), scales


class Orgqr(Op):
    """Orthogonal factor Q from the Householder reflectors that Geqrf returns."""

    differentiable = False
    examples = (case("f32[3,2]", "f32[2]"), case("f32[2,3,3]", "f32[2,2]"))

    def infer(self, x: TensorType, tau: TensorType) -> TensorType:
        _check(self.name, x)
        check_axes(self.name, "tau", tau)
        check_same_dtypes(self.name, x=x, tau=tau)
        fits = tau.shape[:-1] == x.shape[:-2] and tau.shape[-1] <= x.shape[-1]
        if x.shape[-2] < x.shape[-1] or not fits:
            raise problem(
                ValueError,
                "Orgqr: the reflectors and their scales do not match",
                got=f"x {x} and tau {tau}",
                expected="x (..., m, n) with m >= n, and tau (..., k) with k <= n",
            )
        return x

    def lower(self, x: Array, tau: Array) -> Array:
        return lax.linalg.householder_product(jnp.asarray(x), jnp.asarray(tau))


class LuUnpack(Op):
    """Permutation, lower and upper factor from packed LU data and 1-based pivots."""

    unpack_data: bool = True
    unpack_pivots: bool = True
    examples = (
        case("f32[3,3]", "i32[3]:1..3"),
        case("f32[2,3,2]", "i32[2,2]:1..2"),
    )

    def bounds(self, LU_data: Any, LU_pivots: Any) -> tuple[IndexBound, ...]:
        return (IndexBound(1, 1, LU_data.shape[-2] + 1),)

    def lower(self, LU_data: Array, LU_pivots: Array) -> tuple[Any, ...]:
        rows, columns = LU_data.shape[-2:]
        inner = min(rows, columns)
        permutation = low = high = None
        if self.unpack_pivots:
            order = row_order(LU_pivots, rows)
            permutation = jnp.swapaxes(jnp.eye(rows, dtype=LU_data.dtype)[order], -1, -2)
        if self.unpack_data:
            eye = jnp.eye(rows, inner, dtype=LU_data.dtype)
            low = jnp.tril(LU_data[..., :, :inner], -1) + eye
            high = jnp.triu(LU_data[..., :inner, :])
        return permutation, low, high


class PseudoInverse(Op):
    """Moore-Penrose pseudo-inverse; singular values up to max(atol, rtol * largest) count as 0."""

    atol: float = 0.0
    rtol: float | None = None
    hermitian: bool = False
    examples = (case("f32[3,2]"), case("f32[2,2,3]", atol=0.01))

    def infer(self, x: TensorType) -> TensorType:
        _check(self.name, x, square=self.hermitian)
        return x.with_shape((*x.shape[:-2], x.shape[-1], x.shape[-2]))

    def lower(self, x: Array) -> Array:
        rtol = self.rtol
        if rtol is None:
            default = max(x.shape[-2:]) * float(jnp.finfo(x.dtype).eps)
            rtol = default if self.atol == 0.0 else 0.0
        left, values, right = jnp.linalg.svd(x, full_matrices=False, hermitian=self.hermitian)
        limit = jnp.maximum(self.atol, rtol * jnp.max(values, axis=-1, keepdims=True, initial=0))
        large = values > limit.astype(values.dtype)
        inverted = jnp.where(large, 1 / jnp.where(large, values, 1), 0)
        back = jnp.conj(jnp.swapaxes(right, -1, -2)) * inverted[..., None, :]
        return jnp.matmul(back, jnp.conj(jnp.swapaxes(left, -1, -2))).astype(x.dtype)


def _check(name: str, x: TensorType, *, square: bool = False) -> None:
    check_matrices(name, x, square=square)
    if x.dtype.name in _HALVES:
        raise unsupported_dtype(name, x, "float32, float64, complex64 or complex128")


def cholesky(input_x: Any, upper: bool = False) -> Any:
    """Cholesky decomposition of symmetric (Hermitian) positive definite matrices."""
    return Cholesky.of(upper)(input_x)


def qr(input: Any, mode: str = "reduced") -> Any:
    """QR decomposition; with `mode` 'complete' the orthogonal factor is square."""
    if mode not in ("reduced", "complete"):
        raise problem(TypeError, "qr: 'mode' must be 'reduced' or 'complete'", got=repr(mode))
    return Qr.of(mode == "complete")(input)


def svd(input: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Singular value decomposition; without `compute_uv` only the singular values."""
    parts = Svd.of(full_matrices, compute_uv)(input)
    return parts if compute_uv else parts[0]


def eig(A: Any) -> Any:
    """Eigenvalues and eigenvectors of general square matrices."""
    return Eig.of(True)(A)


def eigvals(A: Any) -> Any:
    """Eigenvalues of general square matrices."""
    return Eig.of()(A)[0]


def geqrf(input: Any) -> Any:
    """QR decomposition in LAPACK's packed format: R and the reflectors below it."""
    return Geqrf.of()(input)


def orgqr(input: Any, input2: Any) -> Any:
    """Orthogonal matrix Q from the Householder reflectors that `geqrf` returns."""
    return Orgqr.of()(input, input2)


def lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """Permutation, lower and upper factor of a packed LU decomposition; None if not unpacked."""
    return LuUnpack.of(unpack_data, unpack_pivots)(LU_data, LU_pivots)


def pinv(x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """Moore-Penrose pseudo-inverse."""
    cutoff = 0.0 if atol is None else float(atol)
    relative = None if rtol is None else float(rtol)
    return PseudoInverse.of(cutoff, relative, hermitian)(x)
