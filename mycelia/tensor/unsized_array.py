"""Placeholder arrays of tensors with dynamic shapes, which `set_inputs` accepts."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape

UNKNOWN = -1
ANY_RANK = (-2,)


class UnsizedArray:
    """A shape and a dtype without values; dynamic sizes are -1."""

    __slots__ = ("dtype", "shape")
    size = 0

    def __init__(self, shape: Shape, dtype: DType) -> None:
        self.shape = shape
        self.dtype = dtype.numpy

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise problem(
            ValueError,
            "negative dimensions are not allowed: this tensor has dynamic sizes",
            got=f"a tensor of shape {list(self.shape)}",
            expected="a tensor with values",
            fix="pass such a tensor to set_inputs, and call the network with other tensors",
        )


def has_unknown_sizes(shape: Any) -> bool:
    """Whether a shape holds None or -1."""
    return isinstance(shape, (tuple, list)) and any(n is None or n == UNKNOWN for n in shape)


def unranked(dtype: DType) -> UnsizedArray:
    """The placeholder for `Tensor(dtype=...)`, where only the dtype is known."""
    return UnsizedArray(ANY_RANK, dtype)


def unsized(shape: Any, dtype: DType | None, data: Any, init: Any) -> UnsizedArray:
    """The placeholder for `Tensor(shape=[None, 3], dtype=...)`."""
    if data is not None:
        raise problem(
            ValueError,
            "When initializing a tensor with 'input_data', 'shape' should be set to None.",
            got=f"shape={shape}",
        )
    if dtype is None or init is not None:
        raise problem(
            ValueError,
            "If setting dynamic shape, dtype must not be None, init must be None",
            got=f"shape={shape}, dtype={dtype}, init={init}",
        )
    sizes = tuple(UNKNOWN if n is None else n for n in shape)
    if any(isinstance(n, bool) or not isinstance(n, int) or n < UNKNOWN for n in sizes):
        raise problem(
            ValueError,
            f"'shape' should not have values less than -1 but got ({list(sizes)}).",
            expected="sizes, with None for dynamic ones",
        )
    return UnsizedArray(sizes, dtype)
