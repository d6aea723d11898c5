"""Minimization, line searches and assignment."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize as reference

import mycelia as ms
import mycelia.scipy.optimize as optimize
from mycelia import Tensor


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def himmelblau(p):
    x, y = p
    return (x**2 + y - 11.0) ** 2 + (x + y**2 - 7.0) ** 2


@pytest.mark.parametrize("method", ["BFGS", "LBFGS"])
def test_known_minima(method: str):
    found = optimize.minimize(rosenbrock, Tensor([-1.0, 2.0], ms.float64), method=method, tol=1e-6)
    assert found.success and found.status == 0
    np.testing.assert_allclose(found.x.asnumpy(), [1, 1], atol=1e-5)
    assert np.abs(found.jac.asnumpy()).max() < 1e-6
    assert 0 <= found.fun < 1e-9
    assert found.nfev == found.njev >= found.nit > 10
    second = optimize.minimize(himmelblau, Tensor([0.0, 0.0]), method=method)
    np.testing.assert_allclose(second.x.asnumpy(), [3, 2], atol=1e-4)


def test_the_inverse_hessian():
    found = optimize.minimize(rosenbrock, Tensor([-1.0, 2.0], ms.float64), method="BFGS", tol=1e-8)
    np.testing.assert_allclose(found.hess_inv.asnumpy(), [[0.5, 1.0], [1.0, 2.005]], rtol=0.05)
    assert optimize.minimize(himmelblau, Tensor([0.0, 0.0]), method="LBFGS").hess_inv is None


def test_arguments_gradients_and_limits():
    calls = []

    def gradient(x, c):
        calls.append(1)
        return 2 * (x - c)

    found = optimize.minimize(
        lambda x, c: ((x - c) ** 2).sum(), Tensor([0.0, 1.0]), (Tensor(3.0),), "bfgs", gradient
    )
    assert found.x.asnumpy().tolist() == [3.0, 3.0]
    assert len(calls) == found.njev
    few = optimize.minimize(
        rosenbrock, Tensor([-1.0, 2.0]), method="LBFGS", options={"maxiter": 3, "history_size": 2}
    )
    assert (few.success, few.status, few.nit) == (False, 1, 3)


def test_line_search():
    found = optimize.line_search(lambda x: (x**2).sum(), Tensor([1.0, 1.0]), Tensor([-1.0, -1.0]))
    assert (found.failed, found.status, found.a_k, float(found.f_k)) == (False, 0, 1.0, 0.0)
    start, direction = np.array([-1.0, 2.0]), np.array([806.0, 400.0]) / -1000
    gradient = reference.rosen_der(start)
    direction = -gradient / np.linalg.norm(gradient)
    step = optimize.line_search(rosenbrock, Tensor(start), Tensor(direction))
    value, slope = rosenbrock(start), gradient @ direction
    moved = start + step.a_k * direction
    assert rosenbrock(moved) <= value + 1e-4 * step.a_k * slope
    assert abs(reference.rosen_der(moved) @ direction) <= 0.9 * abs(slope)
    given = optimize.line_search(
        rosenbrock, Tensor(start), Tensor(direction), gfk=Tensor(gradient), old_fval=Tensor(value)
    )
    assert given.a_k == step.a_k and given.nfev == step.nfev - 1


def test_a_line_that_only_rises():
    found = optimize.line_search(lambda x: (x**2).sum(), Tensor([1.0]), Tensor([1.0]), maxiter=4)
    assert found.failed and found.status == 1


def test_linear_sum_assignment():
    random = np.random.default_rng(1)
    for shape in ((3, 3), (2, 5), (5, 2), (1, 4), (6, 6)):
        cost = random.integers(0, 9, shape) + random.random(shape)
        for largest in (False, True):
            rows, columns = optimize.linear_sum_assignment(Tensor(cost), largest)
            expected = reference.linear_sum_assignment(cost, largest)
            assert rows.dtype == columns.dtype == ms.int64
            assert rows.asnumpy().tolist() == expected[0].tolist()
            assert columns.asnumpy().tolist() == expected[1].tolist()


def test_assignment_of_the_first_columns():
    cost = Tensor([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])
    rows, columns = optimize.linear_sum_assignment(cost, False, Tensor(2))
    assert (rows.asnumpy().tolist(), columns.asnumpy().tolist()) == ([0, 1, -1], [1, 0, -1])
    compiled = ms.jit(lambda c: optimize.linear_sum_assignment(c, True))(cost)
    assert compiled[1].asnumpy().tolist() == [0, 2, 1]


BAD = [
    (lambda: optimize.minimize(rosenbrock, Tensor([1.0])), ValueError, "method is missing"),
    (
        lambda: optimize.minimize(rosenbrock, Tensor([1.0]), method="foo"),
        ValueError,
        "unknown method 'foo'",
    ),
    (lambda: optimize.minimize(rosenbrock, [1.0], method="BFGS"), TypeError, "x0"),
    (lambda: optimize.minimize(rosenbrock, Tensor([[1.0]]), method="BFGS"), ValueError, "vector"),
    (
        lambda: optimize.minimize(rosenbrock, Tensor([1.0]), method="BFGS", bounds=[]),
        ValueError,
        "bounds",
    ),
    (lambda: optimize.minimize(rosenbrock, Tensor([1.0]), [2], "BFGS"), TypeError, "args"),
    (lambda: optimize.line_search(rosenbrock, [1.0], Tensor([1.0])), TypeError, "xk"),
    (lambda: optimize.linear_sum_assignment(Tensor([[1.0]]), 3), TypeError, "maximize"),
    (lambda: optimize.linear_sum_assignment(Tensor([1.0]), False), ValueError, "rank"),
    (
        lambda: optimize.linear_sum_assignment(Tensor([[1.0]]), False, 2),
        TypeError,
        "dimension_limit",
    ),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_errors(wrong, kind, message):
    with pytest.raises(kind, match=message):
        wrong()
