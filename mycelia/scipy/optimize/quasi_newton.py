"""Minimization by quasi-Newton methods: BFGS and L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from mycelia._engine.core.checks import check_positive_int
from mycelia.ops.linalg.matmul import matmul
from mycelia.ops.linalg.norms import norm as vector_norm
from mycelia.ops.shapes.creation import eye
from mycelia.scipy.optimize.line_search import LineFunction, Point, evaluator, search
from mycelia.tensor.tensor import Tensor

WOLFE = 1e-4, 0.9


class OptimizeResults(NamedTuple):
    """The solution, whether and why the search ended, and evaluation counts."""

    x: Any
    success: bool
    status: int
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: int
    njev: int
    nit: int


class InverseHessian(Protocol):
    """An approximation of the inverse Hessian."""

    def direction(self, gradient: Any) -> Any:
        """The search direction: minus the inverse Hessian times the gradient."""

    def learn(self, moved: Any, change: Any) -> None:
        """Update the approximation with a step and the change of the gradient along it."""

    def matrix(self) -> Any:
        """The inverse Hessian as a matrix, or None if it is not stored."""


class DenseInverseHessian:
    """The dense inverse Hessian, updated by the BFGS formula."""

    def __init__(self, x0: Any) -> None:
        self.inverse = eye(x0.shape[0], x0.shape[0], x0.dtype)

    def direction(self, gradient: Any) -> Any:
        return -matmul(self.inverse, gradient)

    def learn(self, moved: Any, change: Any) -> None:
        overlap = float((moved * change).sum())
        if overlap <= 0:
            return
        rho = 1.0 / overlap
        turned = matmul(self.inverse, change)
        bend = float((change * turned).sum())
        cross = _outer(moved, turned)
        self.inverse = (
            self.inverse - rho * (cross + cross.T) + (rho * rho * bend + rho) * _outer(moved, moved)
        )

    def matrix(self) -> Any:
        return self.inverse


class LimitedMemoryInverseHessian:
    """The last steps, from which L-BFGS computes the direction."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.pairs: list[tuple[Any, Any, float]] = []

    def direction(self, gradient: Any) -> Any:
        weights = []
        for moved, change, overlap in reversed(self.pairs):
            weight = float((moved * gradient).sum()) / overlap
            weights.append(weight)
            gradient = gradient - weight * change
        if self.pairs:
            _, change, overlap = self.pairs[-1]
            gradient = gradient * (overlap / float((change * change).sum()))
        for (moved, change, overlap), weight in zip(self.pairs, reversed(weights)):
            gradient = gradient + (weight - float((change * gradient).sum()) / overlap) * moved
        return -gradient

    def learn(self, moved: Any, change: Any) -> None:
        overlap = float((moved * change).sum())
        if overlap > 0:
            self.pairs = [*self.pairs, (moved, change, overlap)][-self.size :]

    def matrix(self) -> Any:
        return None


def minimize_bfgs(
    func: Callable[..., Any],
    x0: Any,
    jac: Callable[..., Any] | None = None,
    maxiter: int | None = None,
    norm: float = float("inf"),
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    """Minimize with BFGS (Nocedal and Wright, algorithm 6.1)."""
    return _descend(
        func, x0, jac, DenseInverseHessian(x0), maxiter, norm, gtol, line_search_maxiter
    )


def minimize_lbfgs(
    func: Callable[..., Any],
    x0: Any,
    jac: Callable[..., Any] | None = None,
    history_size: int = 20,
    maxiter: int | None = None,
    norm: float = float("inf"),
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    """Minimize with L-BFGS (Nocedal and Wright, algorithm 7.5)."""
    curvature = LimitedMemoryInverseHessian(
        check_positive_int("minimize", "history_size", history_size)
    )
    return _descend(func, x0, jac, curvature, maxiter, norm, gtol, line_search_maxiter)


def _descend(
    func: Callable[..., Any],
    x0: Any,
    jac: Callable[..., Any] | None,
    curvature: InverseHessian,
    maxiter: int | None,
    norm: float,
    gtol: float,
    searches: int,
) -> OptimizeResults:
    evaluate = evaluator(func, jac)
    most = 200 * x0.size if maxiter is None else maxiter
    x, (value, gradient) = x0, evaluate(x0)
    value, calls, steps, status = float(value), 1, 0, 0
    while not _small(gradient, norm, gtol):
        if steps >= most:
            status = 1
            break
        line = LineFunction(evaluate, x, curvature.direction(gradient))
        begin = Point(0.0, value, float((gradient * line.direction).sum()), gradient)
        found = search(line, begin, *WOLFE, searches)
        calls += line.calls
        steps += 1
        if found.failed:
            status = 5
            break
        moved = found.a_k * line.direction
        curvature.learn(moved, found.g_k - gradient)
        x, value, gradient = x + moved, found.f_k, found.g_k
    return OptimizeResults(
        x, status == 0, status, value, gradient, curvature.matrix(), calls, calls, steps
    )


def _small(gradient: Any, order: float, gtol: float) -> bool:
    return float(vector_norm(gradient, ord=order)) < gtol


def _outer(a: Any, b: Any) -> Tensor:
    return a[:, None] * b[None, :]
