"""Symmetric eigendecomposition, LU factorization, and the matrix exponential (scipy's)."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.dtype import int32
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.kernels.dot import check_matrices
from mycelia._engine.operators.operator import Op, unsupported_dtype


class Eigh(Op):
    """Eigenvalues (ascending) and eigenvectors of symmetric (Hermitian) matrices.

    Only one triangle is read. The eigenvalues have the dtype of the matrix.
    """

    from_lower: bool = True
    examples = (
        case("f32[3,3]", differentiate=False),
        case("f64[2,2,2]", from_lower=False, differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        return {"from_lower": check_bool(self.name, "from_lower", self.from_lower)}

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        _check(self.name, x, square=True)
        return x.with_shape(x.shape[:-1]), x

    def lower(self, x: Array) -> tuple[Array, ...]:
        whole = _mirrored(x, self.from_lower)
        values, vectors = jnp.linalg.eigh(whole, symmetrize_input=False)
        return values.astype(x.dtype), vectors


class LuFactor(Op):
    """LU decomposition: both triangular factors in one matrix, and the 0-based pivots."""

    examples = (case("f32[3,3]"), case("f64[2,3]", differentiate=False))

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        _check(self.name, x)
        return x, TensorType(int32, (*x.shape[:-2], min(x.shape[-2:])))

    def lower(self, x: Array) -> tuple[Array, ...]:
        factors, pivots = jax.scipy.linalg.lu_factor(jnp.asarray(x))
        return factors, pivots.astype(jnp.int32)


class MatrixExponential(Op):
    """Matrix exponential: the sum of x^k / k! over all k."""

    examples = (case("f32[2,2]"), case("f64[3,3]"))

    def infer(self, x: TensorType) -> TensorType:
        _check(self.name, x, square=True)
        return x

    def lower(self, x: Array) -> Array:
        return jax.scipy.linalg.expm(jnp.asarray(x))


def _mirrored(x: Array, from_lower: bool) -> Array:
    """Symmetric matrix built from one triangle of x."""
    triangle = jnp.tril(x) if from_lower else jnp.triu(x)
    strict = jnp.tril(x, -1) if from_lower else jnp.triu(x, 1)
    return triangle + jnp.conj(jnp.swapaxes(strict, -1, -2))


def _check(name: str, x: TensorType, *, square: bool = False) -> None:
    check_matrices(name, x, square=square)
    if x.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise unsupported_dtype(name, x, "float32, float64, complex64 or complex128")
