"""Diagonals and triangles of matrices, and their indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia import ops
from mycelia._engine.core.dtype import int32
from mycelia._engine.core.errors import problem
from mycelia.numpy.array_conversion import constant, integer, to_tensor


def diag(v: Any, k: int = 0) -> Any:
    """A matrix with the vector `v` on diagonal `k`, or that diagonal of the matrix `v`."""
    source = to_tensor(v)
    if source.ndim == 1:
        return ops.diagflat(source, k)
    if source.ndim == 2:
        return ops.diagonal(source, k)
    raise problem(
        ValueError, "diag: v must be a vector or a matrix", got=f"{source.ndim} dimensions"
    )


def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix with all elements of `v` on diagonal `k`."""
    return ops.diagflat(to_tensor(v).ravel(), k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of the matrices in two axes, along a new last axis."""
    return ops.diagonal(to_tensor(a), offset, axis1, axis2)


def tril(m: Any, k: int = 0) -> Any:
    """The lower triangle: zeros above diagonal `k`; a vector becomes a matrix of equal rows."""
    return ops.tril(_square("tril", m), k)


def triu(m: Any, k: int = 0) -> Any:
    """The upper triangle: zeros below diagonal `k`; a vector becomes a matrix of equal rows."""
    return ops.triu(_square("triu", m), k)


def _square(owner: str, m: Any) -> Any:
    """A tensor with at least two axes: a vector becomes a square matrix of equal rows."""
    source = to_tensor(m)
    if source.ndim == 0:
        raise problem(ValueError, f"{owner}: a scalar has no diagonal", expected="1 axis or more")
    return ops.broadcast_to(source, source.shape * 2) if source.ndim == 1 else source


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of a vector's elements as the columns of a matrix."""
    source = to_tensor(x)
    if source.ndim != 1:
        raise problem(ValueError, "vander: x must be a vector", got=f"{source.ndim} dimensions")
    columns = integer("vander", "N", N) if N else source.size
    if columns < 0:
        raise problem(ValueError, "vander: N is negative", got=str(N))
    powers = np.arange(columns) if increasing else np.arange(columns)[::-1]
    return ops.pow(ops.expand_dims(source, 1), constant(powers, source.dtype))


# ---- indices --------------------------------------------------------------------------------


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, ...]:
    """The row and column indices of the lower triangle of an `n` by `m` matrix."""
    return _places(np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, ...]:
    """The row and column indices of the upper triangle of an `n` by `m` matrix."""
    return _places(np.triu_indices(n, k, m))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """The row and column indices of the lower triangle of the matrix `arr`."""
    rows, columns = _matrix_size("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """The row and column indices of the upper triangle of the matrix `arr`."""
    rows, columns = _matrix_size("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with `ndim` axes of size `n`."""
    return _places((np.arange(n),) * ndim)


def _places(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(constant(a, int32) for a in arrays)


def _matrix_size(owner: str, arr: Any) -> tuple[int, ...]:
    shape = to_tensor(arr).shape
    if len(shape) != 2:
        raise problem(ValueError, f"{owner}: not a matrix", got=f"{len(shape)} dimensions")
    return shape
