"""p-norm distances between vectors: cdist, pdist, dist."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_non_negative_float
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import broadcast
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.elementwise.arithmetic import sub
from mycelia.ops.linalg.norms import power_norm, sizes_of, vector_norm


class Cdist(Op):
    """p-norm distance between each row of x and each row of y."""

    p: float = 2.0
    examples = (
        case("f32[2,3]:distinct", "f32[4,3]"),
        case("f32[2,2,3]", "f32[2,1,3]", p=1.0),
        case("f32[2,3]", "f32[2,3]", p=3.0),
        case("f32[2,3]:zeros", "f32[2,3]:zeros", differentiate=False),
    )

    def normalize(self) -> dict[str, Any]:
        return {"p": check_non_negative_float(self.name, "p", self.p)}

    def infer(self, x1: TensorType, x2: TensorType) -> TensorType:
        if not x1.dtype.is_float or x1.dtype is not x2.dtype:
            raise unsupported_dtype(self.name, x1, "two float tensors of one dtype")
        if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
            raise problem(
                ValueError,
                "Cdist: the rows differ in length",
                got=f"{x1} and {x2}",
                expected="two tensors of rows of equal length",
            )
        batch = broadcast(x1.shape[:-2], x2.shape[:-2], op=self.name)
        return x1.with_shape((*batch, x1.shape[-2], x2.shape[-2]))

    def lower(self, x1: Array, x2: Array) -> Array:
        apart = sizes_of(widened(x1)[..., :, None, :] - widened(x2)[..., None, :, :])
        return power_norm(apart, self.p, (apart.ndim - 1,), False).astype(x1.dtype)


class Pdist(Op):
    """p-norm distance between each pair of rows of x."""

    p: float = 2.0
    examples = (case("f32[4,3]"), case("f32[3,2]", p=1.0), case("f32[1,3]"))

    def normalize(self) -> dict[str, Any]:
        return {"p": check_non_negative_float(self.name, "p", self.p)}

    def infer(self, x: TensorType) -> TensorType:
        if not x.dtype.is_float:
            raise unsupported_dtype(self.name, x, "a float tensor")
        if x.ndim < 2:
            raise problem(
                ValueError, "Pdist: the input must have at least 2 dimensions", got=str(x)
            )
        rows = x.shape[-2]
        return x.with_shape((*x.shape[:-2], rows * (rows - 1) // 2))

    def lower(self, x: Array) -> Array:
        first, second = np.triu_indices(x.shape[-2], 1)
        wide = widened(x)
        apart = sizes_of(wide[..., first, :] - wide[..., second, :])
        return power_norm(apart, self.p, (apart.ndim - 1,), False).astype(x.dtype)


def cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    """p-norm distance between each row of x1 and each row of x2."""
    return Cdist.of(p)(x1, x2)


def pdist(input: Any, p: float = 2.0) -> Any:
    """p-norm distance between each pair of rows."""
    return Pdist.of(p)(input)


def dist(input: Any, other: Any, p: float = 2) -> Any:
    """p-norm of input - other."""
    return vector_norm(sub(input, other), p)
