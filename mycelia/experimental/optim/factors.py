"""Kronecker factors of gradients: one matrix for each axis, which sums over all other axes."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia.ops.linalg.matmul import MatMul
from mycelia.ops.linalg.tensor_products import tensor_dot
from mycelia.ops.shapes.reshape import reshape, transpose


def factored_axes(shape: tuple[int, ...], largest: int, alone: bool) -> tuple[int, ...]:
    """The axes of a tensor that get a factor: those of at least 2 and at most `largest` numbers.

    A single axis gets one only where `alone` says so.
    """
    if len(shape) == 1 and not alone:
        return ()
    return tuple(axis for axis, size in enumerate(shape) if 1 < size <= largest)


def factor(x: Any, axis: int) -> Any:
    """The products of the slices of `x` along one axis, each with each."""
    others = tuple(i for i in range(x.ndim) if i != axis)
    rows = reshape(transpose(x, (axis, *others)), (x.shape[axis], -1))
    return MatMul.of(False, True)(rows, rows)


def contracted(x: Any, matrices: dict[int, Any], side: int) -> Any:
    """`x` times the matrix of each axis that has one; its axis `side` is summed over."""
    axes = tuple(range(x.ndim))
    for axis in axes:
        if axis in matrices:
            x = tensor_dot(x, matrices[axis], ((0,), (side,)))  # puts the axis behind the others
        else:
            x = transpose(x, (*axes[1:], 0))
    return x


def check_count(owner: str, name: str, value: Any) -> None:
    """Raise unless a setting is a whole number from 1."""
    if not is_int(value) or value < 1:
        raise problem(ValueError, f"{owner}: invalid {name}: {value!r}", expected="an int from 1")
