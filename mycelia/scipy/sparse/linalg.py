"""Iterative solvers of linear systems with SciPy's interface.

The operator `A` and the preconditioner `M`, an approximate inverse, are matrices or functions of
vectors. With a matrix, the solver is one operator of the program, and its gradients are those of
the exact solution. Eager mode calls a function at each step; tracing first converts it to a
matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.compiler.frontend.tracer import active_tracer
from mycelia._engine.core.checks import check_positive_int, check_string
from mycelia._engine.core.dtype import int32
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.ops.linalg.krylov import KrylovSolve
from mycelia.ops.linalg.matmul import matmul
from mycelia.ops.linalg.norms import norm
from mycelia.ops.shapes.concat import stack
from mycelia.ops.shapes.creation import eye, zeros_like
from mycelia.ops.shapes.reshape import cast
from mycelia.scipy.sparse.krylov_steps import bicgstab_steps, cg_steps, gmres_steps
from mycelia.tensor.tensor import Tensor


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Any, Any]:
    """Solve A x = b for a positive definite A by conjugate gradients; returns (x, info).

    `info` is 0 if the residual ends below max(tol * |b|, atol), else the number of steps.
    """
    return _solved("cg", A, b, x0, tol, atol, maxiter, M, callback)


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Any, Any]:
    """Solve A x = b by stabilized bi-conjugate gradients; returns (x, info) like `cg`."""
    return _solved("bicgstab", A, b, x0, tol, atol, maxiter, M, callback)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    callback: Any = None,
    restrt: int | None = None,
    callback_type: str | None = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """Solve A x = b by GMRES, restarted every `restart` steps; returns (x, info) like `cg`."""
    check_string("gmres", "solve_method", solve_method, ["batched", "incremental"])
    size = check_positive_int("gmres", "restart", restart if restrt is None else restrt)
    return _solved(
        "gmres", A, b, x0, tol, atol, maxiter, M, callback, min(size, b.size), solve_method
    )


def _solved(
    method: str,
    A: Any,
    b: Any,
    x0: Any,
    tol: float,
    atol: float,
    maxiter: int | None,
    M: Any,
    callback: Any,
    restart: int = 20,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    _check(method, b, x0, callback)
    start = zeros_like(b) if x0 is None else x0
    most = 10 * b.size if maxiter is None else check_positive_int(method, "maxiter", maxiter)
    functions = callable(A) or callable(M)
    if functions and active_tracer() is None:
        limit = max(tol * float(norm(b)), atol)
        parts = (_function(A), b, start, _function(M), limit, most)
        x = _STEPS[method](*parts, *((restart,) if method == "gmres" else ()))
    else:
        matrix, eased = _matrix(method, A, b), _matrix(method, M, b)
        op = KrylovSolve.of(method, tol, atol, most, restart, solve_method)
        x = op(matrix, b, start, eased)
    return x, _info(_function(A), b, x, tol, atol, most)


_STEPS: dict[str, Callable[..., Any]] = {
    "cg": cg_steps,
    "bicgstab": bicgstab_steps,
    "gmres": gmres_steps,
}


def _info(a: Callable[[Any], Any], b: Any, x: Any, tol: float, atol: float, most: int) -> Any:
    """0 if the residual is within the tolerance (plus rounding), else the maximum of steps."""
    size = norm(b)
    missed = norm(b - a(x)) > 1.1 * tol * size + 1.1 * atol + 1e-6 * size
    return cast(missed, int32) * most


def _function(operator: Any) -> Callable[[Any], Any]:
    if operator is None:
        return lambda v: v
    return operator if callable(operator) else lambda v: matmul(operator, v)


def _matrix(method: str, operator: Any, b: Any) -> Any:
    """Convert a linear operator to a matrix; None is the identity."""
    identity = eye(b.size, b.size, b.dtype)
    if operator is None:
        return identity
    if callable(operator):
        return stack(tuple(operator(identity[place]) for place in range(b.size)), 1)
    if not isinstance(operator, Tensor):
        raise wrong_type(method, "A", operator, "Tensor or function")
    return operator


def _check(method: str, b: Any, x0: Any, callback: Any) -> None:
    if not isinstance(b, Tensor):
        raise wrong_type(method, "b", b, "Tensor")
    if b.ndim != 1 or not b.dtype.is_float:
        raise problem(
            ValueError,
            f"{method}: b must be a vector of floats",
            got=f"{b.dtype} of shape {b.shape}",
        )
    if x0 is not None and (not isinstance(x0, Tensor) or x0.shape != b.shape):
        raise problem(ValueError, f"{method}: x0 must be a tensor like b", got=repr(x0))
    if callback is not None:
        raise problem(ValueError, f"{method}: callback is not supported", got=repr(callback))
