"""Iterative solvers: matrices and functions, preconditioners, gradients, both modes."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
import mycelia.scipy.sparse.linalg as sparse
from mycelia import Tensor

RANDOM = np.random.default_rng(3)
A = RANDOM.standard_normal((5, 5)) + 6 * np.eye(5)
S = A @ A.T
B = RANDOM.standard_normal(5)
SOLVERS = {"cg": (sparse.cg, S), "bicgstab": (sparse.bicgstab, A), "gmres": (sparse.gmres, A)}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(("as_function", "eased"), [(False, True), (True, False), (True, True)])
def test_solutions(name: str, as_function: bool, eased: bool):
    solve, matrix = SOLVERS[name]
    tensor, diagonal = Tensor(matrix), Tensor(np.diag(1 / np.diag(matrix)))
    operator = (lambda v: tensor @ v) if as_function else tensor
    near = ((lambda v: diagonal @ v) if as_function else diagonal) if eased else None
    x, info = solve(operator, Tensor(B), tol=1e-10, M=near)
    np.testing.assert_allclose(x.asnumpy(), np.linalg.solve(matrix, B), rtol=1e-7, atol=1e-8)
    assert int(info) == 0


@pytest.mark.parametrize("name", ["cg", pytest.param("bicgstab", marks=pytest.mark.slow), "gmres"])
def test_gradients_and_graph_mode(name: str):
    solve, matrix = SOLVERS[name]

    def loss(a, b):
        return solve(a, b, tol=1e-12)[0].sum()

    da, db = ms.jit(ms.grad(loss, (0, 1)))(Tensor(matrix), Tensor(B))
    expected = np.linalg.solve(matrix.T, np.ones(5))
    np.testing.assert_allclose(db.asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(
        da.asnumpy(), -np.outer(expected, np.linalg.solve(matrix, B)), rtol=1e-6, atol=1e-9
    )


def test_functions_in_graph_mode():
    tensor = Tensor(S)
    found = ms.jit(lambda b: sparse.cg(lambda v: tensor @ v, b, tol=1e-10)[0])(Tensor(B))
    np.testing.assert_allclose(found.asnumpy(), np.linalg.solve(S, B), rtol=1e-7)


@pytest.mark.slow
def test_guesses_limits_and_restarts():
    exact = np.linalg.solve(S, B)
    x, info = sparse.cg(Tensor(S), Tensor(B), Tensor(exact), maxiter=1)
    np.testing.assert_allclose(x.asnumpy(), exact, rtol=1e-9)
    assert int(info) == 0
    assert int(sparse.cg(lambda v: Tensor(S) @ v, Tensor(B), tol=1e-12, maxiter=1)[1]) == 1
    for operator in (Tensor(A), lambda v: Tensor(A) @ v):
        x, info = sparse.gmres(operator, Tensor(B), tol=1e-9, restart=2, maxiter=100)
        np.testing.assert_allclose(x.asnumpy(), np.linalg.solve(A, B), rtol=1e-6, atol=1e-7)
    x, _ = sparse.gmres(Tensor(A), Tensor(B), tol=1e-9, solve_method="incremental")
    np.testing.assert_allclose(x.asnumpy(), np.linalg.solve(A, B), rtol=1e-6, atol=1e-7)


BAD = [
    (lambda: sparse.cg(Tensor(S), B), TypeError, "'b' must be Tensor"),
    (lambda: sparse.cg(Tensor(S), Tensor(S)), ValueError, "vector"),
    (lambda: sparse.cg(Tensor(S), Tensor(B[:3])), ValueError, "do not match"),
    (lambda: sparse.bicgstab(S, Tensor(B)), TypeError, "Tensor or function"),
    (lambda: sparse.gmres(Tensor(S), Tensor(B), solve_method="x"), ValueError, "solve_method"),
    (lambda: sparse.cg(Tensor(S), Tensor(B), Tensor([1.0])), ValueError, "x0"),
    (lambda: sparse.cg(Tensor(S), Tensor(B), callback=print), ValueError, "callback"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_errors(wrong, kind, message):
    with pytest.raises(kind, match=message):
        wrong()
