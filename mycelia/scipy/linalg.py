"""Linear algebra on single matrices with SciPy's interface.

The arguments `overwrite_*`, `check_finite`, `turbo`, and `debug` are accepted for compatibility and
ignored.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.dtype import float32, int32, int64, promote
from mycelia._engine.core.errors import problem, wrong_value
from mycelia.ops.elementwise.arithmetic import square
from mycelia.ops.linalg.decomposition import LuUnpack, pinv
from mycelia.ops.linalg.decomposition import cholesky as cholesky_factor
from mycelia.ops.linalg.decomposition import qr as qr_factors
from mycelia.ops.linalg.decomposition import svd as svd_parts
from mycelia.ops.linalg.diagonal import adjoint, tril, triu
from mycelia.ops.linalg.matmul import matmul
from mycelia.ops.linalg.matrix_factors import Eigh, LuFactor, MatrixExponential
from mycelia.ops.linalg.solve import MatrixTriangularSolve, inverse, matrix_solve
from mycelia.ops.linalg.solve import det as determinant
from mycelia.ops.linalg.solve import lu_solve as solve_factored
from mycelia.ops.reduction.reduction import sum as total
from mycelia.ops.shapes.creation import eye, zeros
from mycelia.ops.shapes.reshape import cast, expand_dims, squeeze
from mycelia.ops.shapes.tile import block_diag as joined_blocks
from mycelia.scipy.matrices import ALL, as_matrix, as_tensor, check_flags, check_system
from mycelia.tensor.tensor import Tensor

_TRANSPOSED = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}
_DRIVERS = ("gels", "gelsy", "gelss", "gelsd")


def block_diag(*arrs: Any) -> Any:
    """Block-diagonal matrix of the given matrices."""
    if not arrs:
        return zeros((1, 0), float32)
    if any(a.ndim > 2 for a in arrs):
        raise problem(
            ValueError,
            "block_diag: a block has more than 2 axes",
            got=", ".join(str(a.shape) for a in arrs),
        )
    common = reduce(promote, [a.dtype for a in arrs])
    return joined_blocks(*[cast(a, common) for a in arrs])


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverse of a square matrix."""
    check_flags("inv", overwrite_a=overwrite_a, check_finite=check_finite)
    return inverse(as_matrix("inv", "a", a, square=True))


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant of a square matrix."""
    check_flags("det", overwrite_a=overwrite_a, check_finite=check_finite)
    return determinant(as_matrix("det", "a", a, square=True))


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Cholesky factorization: U with U^T U = a or, with `lower`, L with L L^T = a."""
    check_flags("cholesky", lower=lower, overwrite_a=overwrite_a, check_finite=check_finite)
    return cholesky_factor(as_matrix("cholesky", "a", a, square=True), not lower)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """Cholesky factorization for `cho_solve`: the factor, and whether it is the lower one."""
    check_flags("cho_factor", lower=lower, overwrite_a=overwrite_a, check_finite=check_finite)
    return cholesky_factor(as_matrix("cho_factor", "a", a, square=True), not lower), lower


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve a x = b, given the Cholesky factorization of a."""
    factor, lower = c_and_lower
    check_flags("cho_solve", overwrite_b=overwrite_b, check_finite=check_finite)
    c = as_matrix("cho_solve", "c", factor, square=True)
    b = as_tensor("cho_solve", "b", b)
    first, second = ("N", "T") if check_bool("cho_solve", "lower", lower) else ("T", "N")
    half = _triangle_solution("cho_solve", c, b, first, lower)
    return _triangle_solution("cho_solve", c, half, second, lower)


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """Solve a x = b (or a^T x = b) for a triangular a; `unit_diagonal` assumes ones on it."""
    if isinstance(trans, bool) or trans not in _TRANSPOSED:
        raise wrong_value("solve_triangular", "trans", trans, "one of 0, 1, 2, 'N', 'T', 'C'")
    check_bool("solve_triangular", "lower", lower)
    a = as_matrix("solve_triangular", "a", a, square=True, allowed=ALL)
    b = as_tensor("solve_triangular", "b", b, ALL)
    if check_bool("solve_triangular", "unit_diagonal", unit_diagonal):
        strict = tril(a, -1) if lower else triu(a, 1)
        a = strict + eye(a.shape[0], a.shape[0], a.dtype)
    return _triangle_solution("solve_triangular", a, b, _TRANSPOSED[trans], lower)


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
    transposed: bool = False,
) -> Any:
    """Solve a x = b; `assume_a="pos"` uses a Cholesky factorization."""
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise wrong_value("solve", "assume_a", assume_a, "'gen', 'sym', 'her' or 'pos'")
    a = as_matrix("solve", "a", a, square=True)
    b = as_tensor("solve", "b", b)
    check_system("solve", a, b)
    if assume_a == "pos":
        return cho_solve(cho_factor(a, lower), b)
    left = a.T if transposed else a
    return matrix_solve(left, b) if b.ndim == 2 else matrix_solve(left, b[:, None])[:, 0]


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """LU factorization for `lu_solve`: both factors in one matrix, and 0-based pivots."""
    check_flags("lu_factor", overwrite_a=overwrite_a, check_finite=check_finite)
    return LuFactor.of()(as_matrix("lu_factor", "a", a, square=True))


def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve a x = b, given the result of `lu_factor`; `trans` 1 and 2 transpose a."""
    factors, pivots = lu_and_piv
    check_flags("lu_solve", overwrite_b=overwrite_b, check_finite=check_finite)
    factors = as_matrix("lu_solve", "lu", factors, square=True)
    b = as_tensor("lu_solve", "b", b)
    check_system("lu_solve", factors, b)
    if trans not in (0, 1, 2):
        raise wrong_value("lu_solve", "trans", trans, "0, 1 or 2")
    columns = b if b.ndim == 2 else expand_dims(b, -1)
    if trans == 0:
        found = solve_factored(columns, factors, pivots + 1)
    else:
        upper = _triangle_solution("lu_solve", factors, columns, "T", False)
        unit = tril(factors, -1) + eye(factors.shape[0], factors.shape[0], factors.dtype)
        permutation = LuUnpack.of()(factors, pivots + 1)[0]
        found = matmul(permutation, _triangle_solution("lu_solve", unit, upper, "T", True))
    return found if b.ndim == 2 else squeeze(found, -1)


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, ...]:
    """LU factorization: (P, L, U) with P L U = a and P of int32; with `permute_l`, (P L, U)."""
    check_flags("lu", permute_l=permute_l, overwrite_a=overwrite_a, check_finite=check_finite)
    factors, pivots = LuFactor.of()(as_matrix("lu", "a", a))
    permutation, low, high = LuUnpack.of()(factors, pivots + 1)
    if permute_l:
        return matmul(permutation, low), high
    return cast(permutation, int32), low, high


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: Any = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues, ascending, and eigenvectors of a symmetric (Hermitian) matrix.

    `type` selects the problem for two matrices; with one matrix, it has no effect.
    """
    check_flags(
        "eigh",
        lower=lower,
        eigvals_only=eigvals_only,
        overwrite_a=overwrite_a,
        overwrite_b=overwrite_b,
        turbo=turbo,
        check_finite=check_finite,
    )
    for name, value, only in (("b", b, None), ("eigvals", eigvals, None)):
        if value is not only:
            raise problem(
                ValueError,
                f"eigh: this value of '{name}' is not supported",
                got=repr(value),
                fix=f"leave it out, or pass {name}={only}",
            )
    a = as_matrix("eigh", "a", a, square=True, allowed=ALL)
    values, vectors = Eigh.of(lower)(a)
    return values if eigvals_only else (values, vectors)


def eigvalsh(a: Any, lower: bool = True) -> Any:
    """Eigenvalues of a symmetric (Hermitian) matrix, ascending."""
    return eigh(a, lower=lower, eigvals_only=True)


def qr(a: Any, mode: str = "full") -> Any:
    """QR factorization: (Q, R) with Q R = a; "economic" returns the narrow Q, "r" only R."""
    if mode not in ("full", "r", "economic"):
        raise wrong_value("qr", "mode", mode, "'full', 'r' or 'economic'")
    q, r = qr_factors(as_matrix("qr", "a", a), "reduced" if mode == "economic" else "complete")
    return (r,) if mode == "r" else (q, r)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular value decomposition: (U, s, Vh) with U diag(s) Vh = a, or only s."""
    check_bool("svd", "full_matrices", full_matrices)
    a = as_matrix("svd", "a", a)
    if not check_bool("svd", "compute_uv", compute_uv):
        return svd_parts(a, full_matrices, False)
    values, left, right = svd_parts(a, full_matrices, True)
    return left, values, adjoint(right)


def expm(A: Any) -> Any:
    """Matrix exponential of a square matrix."""
    return MatrixExponential.of()(as_matrix("expm", "A", A, square=True))


def lstsq(A: Any, B: Any, rcond: float | None = None, driver: str | None = None) -> tuple[Any, ...]:
    """Least squares: (x, residues, rank, singular values), with the minimum-norm solution x.

    `driver` selects the results, like the LAPACK routine of that name: "gels" returns residues
    only, "gelsy" (the default) the rank only, and the others return all. Residues exist for
    full-rank systems with more equations than unknowns. All other results are empty.
    """
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise wrong_value("lstsq", "driver", driver, f"one of {_DRIVERS}")
    A, B = (_float_batch(name, value) for name, value in (("A", A), ("B", B)))
    columns = B if B.ndim == A.ndim else expand_dims(B, -1)
    if columns.shape[:-1] != A.shape[:-1]:
        raise problem(
            ValueError, "lstsq: the shapes of A and B do not match", got=f"{A.shape} and {B.shape}"
        )
    cut = _cutoff(A, rcond)
    x = matmul(pinv(A, rtol=cut), columns)
    values = svd_parts(A, False, False)
    rank = total(cast(values > cut * values[..., :1], int64), -1)
    empty, width = Tensor(np.zeros(0, A.dtype.numpy)), A.shape[-1]
    residues = empty
    if driver != "gelsy" and A.shape[-2] > width and _full_rank(rank, width):
        residues = total(square(matmul(A, x) - columns), -2)
    found = x if B.ndim == A.ndim else squeeze(x, -1)
    has_rank, has_values = driver != "gels", driver in ("gelss", "gelsd")
    return (
        found,
        residues,
        rank if has_rank else Tensor(np.zeros(0, np.int64)),
        values if has_values else empty,
    )


def _float_batch(name: str, value: Any) -> Any:
    if not isinstance(value, Tensor) or not value.dtype.is_inexact:
        raise problem(TypeError, f"lstsq: '{name}' must be a tensor of floats", got=f"{value!r}")
    return value


def _cutoff(a: Any, rcond: float | None) -> float:
    """The relative cutoff below which singular values count as 0."""
    if rcond is not None:
        return float(rcond)
    return float(np.finfo(a.dtype.numpy).eps) * max(a.shape[-2:])


def _full_rank(rank: Any, width: int) -> bool:
    return bool((rank == width).all())


def _triangle_solution(owner: str, a: Any, b: Any, trans: str, lower: bool) -> Any:
    """Solve op(a) x = b for a triangular a, where op is the identity, transpose, or adjoint."""
    check_system(owner, a, b)
    if trans == "T":
        a, lower = a.T, not lower
    columns = b if b.ndim == 2 else expand_dims(b, -1)
    found = MatrixTriangularSolve.of(lower=lower, adjoint=trans == "C")(a, columns)
    return found if b.ndim == 2 else squeeze(found, -1)
