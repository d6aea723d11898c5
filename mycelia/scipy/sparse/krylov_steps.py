"""Krylov methods for linear operators given as functions, step by step in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia.ops.linalg.matmul import matmul
from mycelia.ops.shapes.concat import stack
from mycelia.tensor.tensor import Tensor

Operator = Callable[[Any], Any]


def cg_steps(a: Operator, b: Any, x: Any, m: Operator, limit: float, most: int) -> Any:
    """Conjugate gradients (Hestenes and Stiefel, 1952) for positive definite operators."""
    residual = b - a(x)
    if _length(residual) <= limit:
        return x
    eased = m(residual)
    direction, size = eased, _dot(residual, eased)
    for _ in range(most):
        turned = a(direction)
        step = size / _dot(direction, turned)
        x = x + step * direction
        residual = residual - step * turned
        if _length(residual) <= limit:
            break
        eased = m(residual)
        size, before = _dot(residual, eased), size
        direction = eased + (size / before) * direction
    return x


def bicgstab_steps(a: Operator, b: Any, x: Any, m: Operator, limit: float, most: int) -> Any:
    """Stabilized bi-conjugate gradients (van der Vorst, 1992)."""
    residual = b - a(x)
    shadow, direction = residual, residual
    size = _dot(shadow, residual)
    for _ in range(most):
        if _length(residual) <= limit or size == 0:
            break
        eased = m(direction)
        turned = a(eased)
        alpha = size / _dot(shadow, turned)
        half = residual - alpha * turned
        x = x + alpha * eased
        if _length(half) <= limit:
            break
        second = m(half)
        answer = a(second)
        omega = _dot(answer, half) / _dot(answer, answer)
        x = x + omega * second
        residual = half - omega * answer
        size, before = _dot(shadow, residual), size
        beta = (size / before) * (alpha / omega)
        direction = residual + beta * (direction - omega * turned)
    return x


def gmres_steps(
    a: Operator, b: Any, x: Any, m: Operator, limit: float, most: int, restart: int
) -> Any:
    """GMRES (Saad and Schultz, 1986), restarted every `restart` steps, at most `most` times."""
    for _ in range(most):
        residual = b - a(x)
        if _length(residual) <= limit:
            break
        x = x + _arnoldi_step(a, m, m(residual), restart)
    return x


def _arnoldi_step(a: Operator, m: Operator, start: Any, restart: int) -> Any:
    """The step in the Krylov space of `start` that minimizes the preconditioned residual."""
    length = _length(start)
    basis, heights = [start / length], np.zeros((restart + 1, restart))
    columns = 0
    for place in range(restart):
        grown = m(a(basis[-1]))
        for row, vector in enumerate(basis):
            heights[row, place] = share = _dot(vector, grown)
            grown = grown - share * vector
        heights[place + 1, place] = rest = _length(grown)
        columns += 1
        if rest <= 1e-7 * length:
            break
        basis.append(grown / rest)
    wanted = np.zeros(columns + 1)
    wanted[0] = length
    weights = np.linalg.lstsq(heights[: columns + 1, :columns], wanted, rcond=None)[0]
    used = stack(tuple(basis[:columns]), 0)
    return matmul(Tensor(weights.astype(start.dtype.numpy)), used)


def _dot(a: Any, b: Any) -> float:
    return float((a * b).sum())


def _length(a: Any) -> float:
    return _dot(a, a) ** 0.5
