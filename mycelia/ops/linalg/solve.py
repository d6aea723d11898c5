"""Matrix inverses, determinants, powers, and solvers of linear systems."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool, check_int
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.dot import check_matrices, check_same_dtype, wide_dtype
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import INTEGERS, check_kinds, check_shape
from mycelia.ops.elementwise.arithmetic import neg
from mycelia.ops.elementwise.exponential import log
from mycelia.ops.linalg.matmul import BatchMatMul


class MatrixInverse(Op):
    """Inverse of square matrices; with `adjoint`, of their conjugate transposes."""

    adjoint: bool = False
    examples = (
        case("f32[2,2]"),
        case("f32[3,2,2]:positive", adjoint=True),
        case("f32[0,2,2]"),
    )

    def normalize(self) -> dict[str, Any]:
        return {"adjoint": check_bool(self.name, "adjoint", self.adjoint)}

    def infer(self, x: TensorType) -> TensorType:
        check_matrices(self.name, x, square=True)
        return x

    def lower(self, x: Array) -> Array:
        inverse = jnp.linalg.inv(_widened(x)).astype(x.dtype)
        return _adjoint(inverse) if self.adjoint else inverse

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        """From d(inv) = -inv dx inv; the adjoint swaps the sides on which `out` is transposed."""
        if self.adjoint:
            inner = BatchMatMul.of(False, True)(out, dout)
            return (neg(BatchMatMul.of()(inner, out)),)
        inner = BatchMatMul.of(True, False)(out, dout)
        return (neg(BatchMatMul.of(False, True)(inner, out)),)


class MatrixDeterminant(Op):
    """Determinants of square matrices."""

    examples = (case("f32[2,2]"), case("f32[2,3,3]"), case("f16[2,2]", differentiate=False))

    def infer(self, x: TensorType) -> TensorType:
        check_matrices(self.name, x, square=True)
        return x.with_shape(x.shape[:-2])

    def lower(self, x: Array) -> Array:
        return jnp.linalg.det(_widened(x)).astype(x.dtype)


class LogMatrixDeterminant(Op):
    """Signs and logarithms of the absolute values of determinants."""

    examples = (case("f32[2,2]"), case("f32[2,3,3]"))

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_matrices(self.name, x, square=True)
        return (x.with_shape(x.shape[:-2]),) * 2

    def lower(self, x: Array) -> tuple[Array, ...]:
        sign, logarithm = jnp.linalg.slogdet(_widened(x))
        return sign.astype(x.dtype), logarithm.astype(x.dtype)


class MatrixPower(Op):
    """Matrix power x^n of square matrices; a negative `n` inverts them."""

    n: int
    examples = (case("f32[2,2]", n=3), case("f32[2,2,2]", n=-2), case("i32[2,2]", n=2))

    def normalize(self) -> dict[str, Any]:
        return {"n": check_int(self.name, "n", self.n)}

    def infer(self, x: TensorType) -> TensorType:
        if self.n < 0 and not x.dtype.is_inexact:
            raise problem(
                ValueError, "MatrixPower: integer matrices need a non-negative power", got=str(x)
            )
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise problem(ValueError, "MatrixPower: the matrices must be square", got=str(x))
        return x

    def lower(self, x: Array) -> Array:
        return jnp.linalg.matrix_power(_widened(x), self.n).astype(x.dtype)


class MatrixSolve(Op):
    """Solves matrix @ x = rhs; with `adjoint`, for the conjugate transpose of matrix."""

    adjoint: bool = False
    examples = (
        case("f32[2,2]:positive", "f32[2,3]"),
        case("f32[2,3,3]", "f32[2,3,1]", adjoint=True),
    )

    def infer(self, matrix: TensorType, rhs: TensorType) -> TensorType:
        _check_system(self.name, matrix, rhs)
        return rhs

    def lower(self, matrix: Array, rhs: Array) -> Array:
        wide = _widened(matrix)
        known = jnp.asarray(rhs, wide.dtype)
        return jnp.linalg.solve(_adjoint(wide) if self.adjoint else wide, known).astype(rhs.dtype)


class MatrixTriangularSolve(Op):
    """Solves matrix @ x = rhs for a lower or upper triangular matrix."""

    from_lower: bool
    adjoint: bool
    examples = (
        case("f32[2,2]:positive", "f32[2,3]"),
        case("f32[2,3,3]:positive", "f32[2,3,1]", lower=False, adjoint=True),
    )

    def __init__(self, lower: bool = True, adjoint: bool = False) -> None:
        # A field cannot be called `lower`, which is a rule of every operator; the argument can.
        object.__setattr__(self, "from_lower", check_bool(self.name, "lower", lower))
        object.__setattr__(self, "adjoint", check_bool(self.name, "adjoint", adjoint))

    def infer(self, matrix: TensorType, rhs: TensorType) -> TensorType:
        _check_system(self.name, matrix, rhs)
        return rhs

    def lower(self, matrix: Array, rhs: Array) -> Array:
        return _solve_triangle(matrix, rhs, lower=self.from_lower, adjoint=self.adjoint)


class CholeskyInverse(Op):
    """Inverse of a matrix from its Cholesky factor."""

    upper: bool = False
    examples = (case("f32[2,2]:positive"), case("f32[2,2,2]:positive", upper=True))

    def infer(self, x: TensorType) -> TensorType:
        check_matrices(self.name, x, square=True)
        return x

    def lower(self, x: Array) -> Array:
        eye = jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape)
        return _solve_factored(x, eye, self.upper)


class CholeskySolve(Op):
    """Solves A @ x = x1 from the Cholesky factor `x2` of A."""

    upper: bool = False
    examples = (
        case("f32[2,3]", "f32[2,2]:positive"),
        case("f32[2,2,1]", "f32[2,2,2]:positive", upper=True),
    )

    def infer(self, x1: TensorType, x2: TensorType) -> TensorType:
        _check_system(self.name, x2, x1)
        return x1

    def lower(self, x1: Array, x2: Array) -> Array:
        return _solve_factored(x2, x1, self.upper)


class LuSolve(Op):
    """Solves A @ y = x from A's LU factors and 1-based pivots."""

    examples = (
        case("f32[2,1]", "f32[2,2]:positive", "i32[2]:1..2", differentiate=False),
        case("f32[3,3,2]", "f32[3,3,3]:positive", "i32[3,3]:1..3"),
    )

    def infer(self, x: TensorType, lu_data: TensorType, lu_pivots: TensorType) -> TensorType:
        _check_system(self.name, lu_data, x)
        check_shape(self.name, "lu_pivots", lu_pivots, lu_data.shape[:-1])
        check_kinds(self.name, INTEGERS, lu_pivots=lu_pivots)
        return x

    def bounds(self, x: Any, lu_data: Any, lu_pivots: Any) -> tuple[IndexBound, ...]:
        return (IndexBound(2, 1, lu_data.shape[-1] + 1),)

    def lower(self, x: Array, lu_data: Array, lu_pivots: Array) -> Array:
        order = row_order(lu_pivots, lu_data.shape[-1])
        sorted_rows = jnp.take_along_axis(x, order[..., None], axis=-2)
        half = _solve_triangle(lu_data, sorted_rows, lower=True, unit=True)
        return _solve_triangle(lu_data, half, lower=False)


class Lstsq(Op):
    """Least-squares (or minimum-norm) solution of x @ y = a."""

    fast: bool = True
    l2_regularizer: float = 0.0
    examples = (case("f32[3,2]", "f32[3,2]"), case("f32[2,3]", "f32[2]"))

    def normalize(self) -> dict[str, Any]:
        if self.l2_regularizer != 0.0:
            raise problem(
                TypeError,
                "Lstsq: only l2_regularizer=0.0 is supported",
                got=f"{self.l2_regularizer}",
            )
        return {"fast": check_bool(self.name, "fast", self.fast)}

    def infer(self, x: TensorType, a: TensorType) -> TensorType:
        check_same_dtype(self.name, x, a)
        if x.ndim != 2 or a.ndim not in (1, 2) or x.shape[0] != a.shape[0]:
            raise problem(
                ValueError,
                "Lstsq: the matrix and the right side do not match",
                got=f"x {x} and a {a}",
                expected="a matrix (m, n), and a right side (m,) or (m, k)",
            )
        return x.with_shape((x.shape[1], a.shape[1] if a.ndim == 2 else 1))

    def lower(self, x: Array, a: Array) -> Array:
        known = jnp.reshape(_widened(a), (a.shape[0], a.shape[1] if a.ndim == 2 else 1))
        return jnp.linalg.lstsq(_widened(x), known)[0].astype(x.dtype)


def row_order(pivots: Array, rows: int) -> Array:
    """Row permutation that results from a sequence of row swaps (1-based `pivots`)."""
    swaps = jnp.maximum(jnp.asarray(pivots).astype(jnp.int32) - 1, 0)
    return lax.linalg.lu_pivots_to_permutation(swaps, rows)


def _widened(x: Array) -> Array:
    return jnp.asarray(x, wide_dtype(x.dtype))


def _adjoint(x: Array) -> Array:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _solve_triangle(
    matrix: Array, rhs: Array, *, lower: bool, adjoint: bool = False, unit: bool = False
) -> Array:
    return lax.linalg.triangular_solve(
        _widened(matrix),
        _widened(rhs),
        left_side=True,
        lower=lower,
        transpose_a=adjoint,
        conjugate_a=adjoint,
        unit_diagonal=unit,
    ).astype(rhs.dtype)


def _solve_factored(factor: Array, rhs: Array, upper: bool) -> Array:
    """Two triangular solves; an upper factor U represents U^H U."""
    half = _solve_triangle(factor, rhs, lower=not upper, adjoint=upper)
    return _solve_triangle(factor, half, lower=not upper, adjoint=not upper)


def _check_system(name: str, matrix: TensorType, rhs: TensorType) -> None:
    check_matrices(name, matrix, square=True)
    check_same_dtype(name, matrix, rhs)
    if rhs.ndim != matrix.ndim or rhs.shape[:-1] != matrix.shape[:-1]:
        raise problem(
            ValueError,
            f"{name}: the matrix and the right side do not match",
            got=f"matrix {matrix} and right side {rhs}",
            expected="shapes that are equal except for the last size",
        )


def inverse(input: Any) -> Any:
    """Inverse of square matrices."""
    return MatrixInverse.of()(input)


def det(input: Any) -> Any:
    """Determinants of square matrices."""
    return MatrixDeterminant.of()(input)


def matrix_determinant(input: Any) -> Any:
    """Determinants of square matrices."""
    return MatrixDeterminant.of()(input)


def slogdet(input: Any) -> Any:
    """Signs and logarithms of the absolute values of determinants."""
    return LogMatrixDeterminant.of()(input)


def log_matrix_determinant(input: Any) -> Any:
    """Signs and logarithms of the absolute values of determinants."""
    return LogMatrixDeterminant.of()(input)


def logdet(input: Any) -> Any:
    """Logarithm of the determinant; NaN where the determinant is negative."""
    return log(det(input))


def matrix_power(input: Any, n: int) -> Any:
    """Matrix power `input`^n of square matrices."""
    return MatrixPower.of(n)(input)


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    """Solves matrix @ x = rhs."""
    return MatrixSolve.of(adjoint)(matrix, rhs)


def cholesky_inverse(input_x: Any, upper: bool = False) -> Any:
    """Inverse of a matrix from its Cholesky factor."""
    return CholeskyInverse.of(upper)(input_x)


def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Any:
    """Solves A @ x = input from the Cholesky factor `input2` of A."""
    return CholeskySolve.of(upper)(input, input2)


def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """Solves A @ x = b from A's LU factors."""
    return LuSolve.of()(b, LU_data, LU_pivots)


def lstsq(input: Any, A: Any) -> Any:
    """Least-squares solution of input @ x = A."""
    return Lstsq.of()(input, A)
