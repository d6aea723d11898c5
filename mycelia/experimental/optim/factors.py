"""Kronecker factors of gradients: one matrix per axis, summed over all other axes."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.ops.linalg.matmul import MatMul
from mycelia.ops.linalg.tensor_products import tensor_dot
from mycelia.ops.shapes.reshape import reshape, transpose


def factored_axes(shape: tuple[int, ...], largest: int, alone: bool) -> tuple[int, ...]:
    """Axes of a tensor that have a factor: those with 2 to `largest` elements.

    The axis of a vector has one only if `alone` is set.
    """
    if len(shape) == 1 and not alone:
        return ()
    return tuple(axis for axis, size in enumerate(shape) if 1 < size <= largest)


def factor(x: Any, axis: int) -> Any:
    """Gram matrix of the slices of `x` along one axis."""
    others = tuple(i for i in range(x.ndim) if i != axis)
    rows = reshape(transpose(x, (axis, *others)), (x.shape[axis], -1))
    return MatMul.of(False, True)(rows, rows)


def contracted(x: Any, matrices: dict[int, Any], side: int) -> Any:
    """`x` contracted with the matrix of each axis that has one, over the matrix axis `side`."""
    axes = tuple(range(x.ndim))
    for axis in axes:
        if axis in matrices:
            x = tensor_dot(x, matrices[axis], ((0,), (side,)))  # moves the axis behind the others
        else:
            x = transpose(x, (*axes[1:], 0))
    return x


def check_count(owner: str, name: str, value: Any) -> None:
    """Raise unless a setting is a positive int."""
    if not is_int(value) or value < 1:
        raise problem(ValueError, f"{owner}: invalid {name}: {value!r}", expected="a positive int")
