"""Operators that periodically refresh inverse roots and eigenvectors of Kronecker factors."""

from __future__ import annotations

from typing import Any

from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op

KEEP, START, REFRESH = range(3)
_TINY = 1e-30


class RefreshedRoots(Op, register=False):
    """Inverse roots factor ^ (-1 / order) of each factor where `due`, else the old roots.

    First, `eps` times the largest eigenvalue is added to the diagonal.
    """

    differentiable = False
    order: int
    eps: float

    def infer(self, due: TensorType, factors: Any, roots: Any) -> Any:
        return tuple(roots)

    def lower(self, due: Array, factors: tuple[Array, ...], roots: tuple[Array, ...]) -> Any:
        def fresh() -> tuple[Array, ...]:
            return tuple(self._root(factor) for factor in factors)

        return lax.cond(due, fresh, lambda: tuple(roots))

    def _root(self, factor: Array) -> Array:
        values, vectors = jnp.linalg.eigh(factor, symmetrize_input=False)
        values = jnp.maximum(values, 0.0)
        values = jnp.maximum(values + self.eps * values.max(), _TINY)
        return (vectors * values ** (-1.0 / self.order)) @ vectors.T


class RefreshedBases(Op, register=False):
    """Eigenvectors of factors, in descending order of eigenvalues.

    `stage` selects the method: KEEP returns the old bases, START computes exact ones, and REFRESH
    applies one power iteration and a QR step. A refresh may reorder the vectors, so it also
    permutes `squares` along the `axes` of the factors.
    """

    differentiable = False
    axes: tuple[int, ...]

    def infer(self, stage: TensorType, squares: TensorType, factors: Any, bases: Any) -> Any:
        return (squares, *bases)

    def lower(self, stage: Array, squares: Array, factors: Any, bases: Any) -> Any:
        def start() -> tuple[Array, ...]:
            return (squares, *(jnp.linalg.eigh(factor)[1][:, ::-1] for factor in factors))

        def refresh() -> tuple[Array, ...]:
            return self._refreshed(squares, factors, bases)

        return lax.switch(stage, [lambda: (squares, *bases), start, refresh])

    def _refreshed(self, squares: Array, factors: Any, bases: Any) -> tuple[Array, ...]:
        fresh = []
        for axis, factor, basis in zip(self.axes, factors, bases, strict=True):
            turned = factor @ basis
            order = jnp.argsort(-(basis * turned).sum(0))
            squares = jnp.take(squares, order, axis=axis)
            fresh.append(jnp.linalg.qr(turned[:, order])[0])
        return (squares, *fresh)
