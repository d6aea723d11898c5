"""Iterative (Krylov) solvers of linear systems: conjugate gradients, BiCGSTAB, GMRES."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.kernels.dot import check_matrices
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import check_axes, check_same_dtypes, check_same_shape


class KrylovSolve(Op):
    """Solves matrix @ x = b from the guess `x0`; `preconditioner` approximates the inverse.

    Gradients are those of the exact solution.
    """

    method: str
    tol: float = 1e-5
    atol: float = 0.0
    maxiter: int | None = None
    restart: int = 20
    solve_method: str = "batched"
    examples = (
        case("f64[2,2]:positive", "f64[2]", "f64[2]:zeros", "f64[2,2]:positive",
             method="gmres", differentiate=False),
    )  # fmt: skip

    def infer(
        self, matrix: TensorType, b: TensorType, x0: TensorType, preconditioner: TensorType
    ) -> TensorType:
        check_axes(self.method, "b", b)
        check_same_shape(self.method, b=b, x0=x0)
        given = {"matrix": matrix, "b": b, "x0": x0, "preconditioner": preconditioner}
        check_same_dtypes(self.method, **given)
        for side in (matrix, preconditioner):
            check_matrices(self.method, side, square=True)
            if side.shape != (b.shape[0], b.shape[0]):
                raise problem(
                    ValueError, f"{self.method}: the sizes do not match", got=f"{side} and b {b}"
                )
        return b

    def lower(self, matrix: Array, b: Array, x0: Array, preconditioner: Array) -> Array:
        options: dict[str, Any] = {"tol": self.tol, "atol": self.atol, "maxiter": self.maxiter}
        if self.method == "gmres":
            options |= {"restart": self.restart, "solve_method": self.solve_method}
        solvers = jax.scipy.sparse.linalg  # not at the top: jax imports it on first use
        found, _ = getattr(solvers, self.method)(
            lambda v: jnp.matmul(matrix, v),
            jnp.asarray(b),
            x0=jnp.asarray(x0),
            M=lambda v: jnp.matmul(preconditioner, v),
            **options,
        )
        return found
