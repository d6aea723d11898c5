"""Sorted unique elements or slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.dtype import as_dtype
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.jax_setup import Array
from mycelia._engine.operators.operator import Op


class DistinctSorted(Op):
    """Sorted unique elements, or slices along `dim`.

    Also returns the index of each element (or slice) among them, and how often each occurs.
    """

    dim: int | None = None
    host_only = True
    host_limit = 2**62
    differentiable = False
    examples = (case("i32[2,3]:<3"), case("f32[4]"), case("i64[4,2]:<2", dim=0), case("i64[0]"))

    def infer(self, *args: Any) -> Any:
        raise self._unsizable()

    def lower(self, x: Array) -> tuple[Array, Array, Array]:
        raise self._unsizable()

    def host(self, x: Any) -> tuple[Any, Any, Any]:
        if as_dtype(x.dtype).kind == "complex":
            raise problem(TypeError, "unique: complex numbers have no order", got=f"{x.dtype}")
        axis = None if self.dim is None else normalize_axis(self.dim, x.ndim, "unique")
        found, inverse, counts = np.unique(x, return_inverse=True, return_counts=True, axis=axis)
        shape = x.shape if axis is None else (x.shape[axis],)
        return found, inverse.reshape(shape).astype(np.int64), counts.astype(np.int64)

    def _unsizable(self) -> RuntimeError:
        return problem(
            RuntimeError,
            "unique: the shape of the result depends on the values of the argument",
            expected="a call outside of compiled code",
            fix="call it eagerly, before the compiled function",
        )
