"""Muon, Shampoo and SOAP once more, in plain numpy and double precision, one function each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray
Steps = Sequence[Array]


def muon(weight: Array, gradients: Steps, *, lr=0.02, momentum=0.95, nesterov=True,
         weight_decay=0.0, ns_steps=5, scale: Callable[[int, int], float]) -> Array:  # fmt: skip
    w, velocity = weight.astype(np.float64), np.zeros(weight.shape)
    for g in gradients:
        velocity = momentum * velocity + (1 - momentum) * g
        change = momentum * velocity + (1 - momentum) * g if nesterov else velocity
        x = change.reshape(len(w), -1)
        rows, columns = x.shape
        x = x / (np.linalg.norm(x) + 1e-7)
        for _ in range(ns_steps):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        w = w * (1 - lr * weight_decay) - lr * scale(rows, columns) * x.reshape(w.shape)
    return w


def adamw(weight: Array, gradients: Steps, *, lr=3e-4, betas=(0.9, 0.95), eps=1e-8,
          weight_decay=0.0) -> Array:  # fmt: skip
    w, m, v = weight.astype(np.float64), np.zeros(weight.shape), np.zeros(weight.shape)
    for t, g in enumerate(gradients, 1):
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        m_hat, v_hat = m / (1 - betas[0] ** t), v / (1 - betas[1] ** t)
        w = w * (1 - lr * weight_decay) - lr * m_hat / (np.sqrt(v_hat) + eps)
    return w


def _outer(g: Array, axis: int) -> Array:
    others = [i for i in range(g.ndim) if i != axis]
    return np.tensordot(g, g, (others, others))


def _along(x: Array, matrices: dict[int, Array]) -> Array:
    """Each axis that has a matrix, multiplied with it: sum over j of x[.. j ..] m[j, i]."""
    for axis, matrix in matrices.items():
        x = np.moveaxis(np.tensordot(x, matrix, ((axis,), (0,))), -1, axis)
    return x


def _negative_root(matrix: Array, order: int, eps: float) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0) + eps * values.max()
    return vectors @ np.diag(values ** (-1 / order)) @ vectors.T


def shampoo(weight: Array, gradients: Steps, *, lr=1e-2, betas=(0.9, 0.99), eps=1e-6,
            weight_decay=0.0, every=10, axes=None, grafting="rmsprop") -> Array:  # fmt: skip
    w, mean, v = weight.astype(np.float64), np.zeros(weight.shape), np.zeros(weight.shape)
    axes = range(weight.ndim) if axes is None else axes
    factors = {a: np.zeros((weight.shape[a],) * 2) for a in axes}
    roots: dict[int, Array] = {}
    beta1, beta2 = betas
    new = 1.0 if beta2 == 1.0 else 1 - beta2
    for t, g in enumerate(gradients, 1):
        share = 1.0 if beta2 == 1.0 else 1 - beta2**t
        v = beta2 * v + new * g * g
        graft = g / (np.sqrt(v / share) + 1e-8) if grafting == "rmsprop" else g
        for a in axes:
            factors[a] = beta2 * factors[a] + new * _outer(g, a)
            if t % every == 0:
                roots[a] = _negative_root(factors[a] / share, 2 * len(factors), eps)
        change = graft
        if roots:
            change = _along(g, roots)
            if grafting is not None:
                change = change * np.linalg.norm(graft) / np.linalg.norm(change)
        mean = beta1 * mean + (1 - beta1) * change
        w = w * (1 - lr * weight_decay) - lr * mean / (1 - beta1**t)
    return w


def soap(weight: Array, gradients: Steps, *, lr=3e-3, betas=(0.95, 0.95), shampoo_beta=None,
         eps=1e-8, weight_decay=0.01, every=10, axes=None) -> Array:  # fmt: skip
    w, m, v = weight.astype(np.float64), np.zeros(weight.shape), np.zeros(weight.shape)
    axes = range(weight.ndim) if axes is None else axes
    beta = betas[1] if shampoo_beta is None else shampoo_beta
    factors = {a: np.zeros((weight.shape[a],) * 2) for a in axes}
    bases: dict[int, Array] = {}
    for t, g in enumerate(gradients):
        if t > 0:
            m = betas[0] * m + (1 - betas[0]) * g
            v = betas[1] * v + (1 - betas[1]) * _along(g, bases) ** 2
            rate = lr * np.sqrt(1 - betas[1] ** t) / (1 - betas[0] ** t)
            back = {a: q.T for a, q in bases.items()}
            w = w - rate * _along(_along(m, bases) / (np.sqrt(v) + eps), back)
            w = w * (1 - lr * weight_decay)
        for a in axes:
            factors[a] = beta * factors[a] + (1 - beta) * _outer(g, a)
            if t == 0:
                bases[a] = np.linalg.eigh(factors[a])[1][:, ::-1]
            elif t % every == 0:
                order = np.argsort(-np.diag(bases[a].T @ factors[a] @ bases[a]))
                v = np.take(v, order, a)
                bases[a] = np.linalg.qr(factors[a] @ bases[a][:, order])[0]
    return w
