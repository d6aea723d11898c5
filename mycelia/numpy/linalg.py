"""Linear algebra: products of vectors and matrices, and norms."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import is_number
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import broadcast, normalize_axes, normalize_axis
from mycelia.numpy.array_conversion import at_least_single, integer, to_tensor, together, typed
from mycelia.numpy.reduction import sum as total


def matmul(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """Matrix product; leading axes are batch axes."""
    return typed(ops.matmul(*_not_numbers("matmul", x1, x2)), dtype)


def dot(a: Any, b: Any) -> Any:
    """The sum of products over the last axis of `a` and the second to last of `b`."""
    x, y = together(a, b)
    if not x.ndim or not y.ndim:
        return ops.mul(x, y)
    return _contract("dot", x, y, ([x.ndim - 1], [max(y.ndim - 2, 0)]))


def inner(a: Any, b: Any) -> Any:
    """The sum of products over the last axes."""
    x, y = together(a, b)
    if not x.ndim or not y.ndim:
        return ops.mul(x, y)
    return _contract("inner", x, y, ([x.ndim - 1], [y.ndim - 1]))


def outer(a: Any, b: Any) -> Any:
    """Outer product of the flattened arrays."""
    x, y = together(a, b)
    return ops.mul(ops.reshape(x, (x.size, 1)), y.ravel())


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Tensor contraction over the given axes, or the last of `a` and the first of `b`."""
    x, y = together(a, b)
    return _contract("tensordot", x, y, axes)


def kron(a: Any, b: Any) -> Any:
    """Kronecker product."""
    return ops.kron(*together(a, b))


def _contract(owner: str, x: Any, y: Any, axes: Any) -> Any:
    if isinstance(axes, (list, tuple)):
        pairs = zip(*(n if isinstance(n, (list, tuple)) else (n,) for n in axes), strict=True)
        if any(x.shape[i] != y.shape[j] for i, j in pairs):
            raise problem(
                ValueError,
                f"{owner}: the contracted axes have different sizes",
                got=f"shapes {list(x.shape)} and {list(y.shape)}, axes {axes}",
            )
    return ops.tensor_dot(x, y, axes)


def _not_numbers(owner: str, *values: Any) -> tuple[Any, ...]:
    tensors = together(*values)
    if any(t.ndim == 0 for t in tensors):
        raise problem(TypeError, f"{owner}: a scalar is not a matrix", fix="use multiply")
    return tensors


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    """Cross product of vectors with two or three components."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (
        ops.moveaxis(t, normalize_axis(place, t.ndim, "cross"), -1)
        for t, place in zip(together(a, b), (axisa, axisb), strict=True)
    )
    sizes = x.shape[-1], y.shape[-1]
    if not set(sizes) <= {2, 3}:
        raise problem(ValueError, "cross: vectors need 2 or 3 components", got=f"{sizes}")
    shape = broadcast(x.shape[:-1], y.shape[:-1], op="cross")
    x0, x1, x2 = _coordinates(x, shape)
    y0, y1, y2 = _coordinates(y, shape)
    upright = ops.sub(ops.mul(x0, y1), ops.mul(x1, y0))
    if sizes == (2, 2):
        return upright
    first = ops.sub(ops.mul(x1, y2), ops.mul(x2, y1))
    second = ops.sub(ops.mul(x2, y0), ops.mul(x0, y2))
    return ops.stack((first, second, upright), normalize_axis(axisc, len(shape) + 1, "cross"))


def _coordinates(vectors: Any, shape: tuple[int, ...]) -> list[Any]:
    """Three components, each in `shape`; a missing third one is zero."""
    parts = [ops.broadcast_to(p, shape) for p in ops.unbind(vectors, -1)]
    return parts if len(parts) == 3 else [*parts, ops.zeros_like(parts[0])]


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The trace (sum of the diagonal) of the matrices in two axes."""
    return total(ops.diagonal(to_tensor(a), offset, axis1, axis2), -1, dtype)


def matrix_power(a: Any, n: int) -> Any:
    """A power of a square matrix."""
    matrix = to_tensor(a)
    power = integer("matrix_power", "n", n)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise problem(ValueError, "matrix_power: not square", got=f"shape {list(matrix.shape)}")
    if power < 0:
        raise problem(ValueError, "matrix_power: n is negative", got=str(n))
    return ops.matrix_power(matrix, power)


def multi_dot(arrays: Any) -> Any:
    """The product of several matrices, in the cheapest order of multiplication."""
    if len(arrays) < 2:
        raise problem(ValueError, "multi_dot: pass at least two matrices")
    matrices = list(together(*arrays))
    is_row, is_column = matrices[0].ndim == 1, matrices[-1].ndim == 1
    if is_row:
        matrices[0] = ops.expand_dims(matrices[0], 0)
    if is_column:
        matrices[-1] = ops.expand_dims(matrices[-1], 1)
    if any(m.ndim != 2 for m in matrices):
        raise problem(ValueError, "multi_dot: every factor must be a matrix")
    sizes = (*(m.shape[0] for m in matrices), matrices[-1].shape[1])

    def product(first: int, last: int) -> Any:
        if first == last:
            return matrices[first]
        cut = _cheapest_cut(sizes, first, last)[1]
        return ops.matmul(product(first, cut), product(cut + 1, last))

    result = product(0, len(matrices) - 1)
    shape = result.shape[1 if is_row else 0 : 1 if is_column else 2]
    return ops.reshape(result, shape)


@cache
def _cheapest_cut(sizes: tuple[int, ...], first: int, last: int) -> tuple[int, int]:
    """The cost of a chain of matrix products, and the index at which to split it."""
    if first == last:
        return 0, first
    return min(
        (
            _cheapest_cut(sizes, first, cut)[0]
            + _cheapest_cut(sizes, cut + 1, last)[0]
            + sizes[first] * sizes[cut + 1] * sizes[last + 1],
            cut,
        )
        for cut in range(first, last)
    )


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors (one axis) or matrices (two axes); without `ord`, of all elements."""
    source = at_least_single(x)
    axes = _norm_axes(axis, source.ndim)
    if ord is None:
        return ops.sqrt(ops.sum(ops.square(source), axes, keepdims))
    if axis is None and source.ndim > 2:
        raise problem(ValueError, "norm: not a vector or a matrix", fix="name one or two axes")
    if len(axes) == 1:
        return _vector_norm(source, ord, axes, keepdims)
    return _matrix_norm(source, ord, axes, keepdims)


def _norm_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """The normalized axes of a norm, in the given order."""
    normalize_axes(axis, rank, "norm")
    named = range(rank) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(normalize_axis(n, rank, "norm") for n in named)


def _vector_norm(source: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if not is_number(order):
        raise problem(ValueError, "norm: this order needs a matrix", got=repr(order))
    return ops.vector_norm(source, order, axes, keepdims)


def _matrix_norm(source: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if len(axes) != 2:
        raise problem(ValueError, "norm: more than two axes", got=str(axes))
    if order not in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise problem(
            ValueError,
            "norm: unknown order of a matrix norm",
            got=repr(order),
            expected="'fro', 'nuc', 1, -1, 2, -2, inf or -inf",
        )
    return ops.matrix_norm(source, order, axes, keepdims)
