"""Parameters of distributions and bijectors: conversion to tensors, and checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.symbolic import is_symbolic
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, broadcast
from mycelia.ops.shapes.reshape import broadcast_to, cast
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

Limit = Callable[[np.ndarray, str], None]


def parameter_tensor(value: Any, dtype: DType) -> Any:
    """Convert a parameter to a tensor of `dtype`; Parameters and None are unchanged."""
    if value is None or isinstance(value, Parameter):
        return value
    if isinstance(value, Tensor):
        return cast(value, dtype) if value.dtype is not dtype else value
    if isinstance(value, bool) or not isinstance(value, (int, float, list, tuple, np.ndarray)):
        raise problem(
            TypeError,
            f"a parameter cannot be converted to a tensor of {dtype}",
            got=repr(value),
            expected="a number, a list, an array or a Tensor",
        )
    return Tensor(np.asarray(value, dtype.numpy))


def parameter_dtype(values: Iterable[Any], dtype: DType | None) -> DType:
    """The floating-point dtype for computation: `dtype`, else float16 or float32."""
    if dtype is not None and dtype.is_float:
        return dtype
    halves = [v for v in values if isinstance(v, Tensor) and v.dtype is dtypes.float16]
    return dtypes.float16 if halves else dtypes.float32


def check_tensor(value: Any, name: str) -> Any:
    """Check that a value is a tensor."""
    if not isinstance(value, Tensor):
        raise problem(
            TypeError,
            f"{name}: must be a Tensor",
            got=repr(value),
            fix=f"wrap it: Tensor({value!r})",
        )
    return value


def check_limit(limit: Limit, value: Any, title: str) -> None:
    """Apply `limit` to the values of a tensor, if they are already known."""
    if value is not None and not is_symbolic(value):
        limit(value.asnumpy(), title)


def positive(numbers: np.ndarray, title: str) -> None:
    if not (numbers > 0).all():
        raise problem(ValueError, f"{title}: must be above 0", got=str(numbers))


def not_negative(numbers: np.ndarray, title: str) -> None:
    if not (numbers >= 0).all():
        raise problem(ValueError, f"{title}: must be 0 or more", got=str(numbers))


def probability(numbers: np.ndarray, title: str) -> None:
    """Check values in the open interval (0, 1)."""
    if not ((numbers > 0) & (numbers < 1)).all():
        raise problem(ValueError, f"{title}: must lie between 0 and 1", got=str(numbers))


def shares(numbers: np.ndarray, title: str) -> None:
    """Check probabilities that sum to 1 along the last axis."""
    if numbers.ndim < 1:
        raise problem(
            ValueError,
            f"{title}: a scalar is not a list of probabilities",
            got=str(numbers),
            fix="give the probabilities of all classes",
        )
    probability(numbers, title)
    if not np.allclose(numbers.astype(np.float64).sum(-1), 1, rtol=1e-3):
        raise problem(
            ValueError,
            f"{title}: must sum to 1",
            got=str(numbers),
            expected="sums of 1 along the last axis",
        )


def common_shape(values: Iterable[Any], owner: str) -> Shape:
    """The broadcast shape of all tensors."""
    return broadcast(*(v.shape for v in values), op=owner)


def broadcast_all(values: list[Any], owner: str) -> list[Any]:
    """All tensors broadcast to their common shape."""
    shape = common_shape(values, owner)
    return [v if v.shape == shape else broadcast_to(v, shape) for v in values]


def check_other_type(dist: Any, expected: str) -> None:
    """Check that the other distribution in `kl_loss` has the same type."""
    if dist != expected:
        raise problem(
            ValueError,
            f"{expected}: can only be compared with the same type",
            got=repr(dist),
            expected=repr(expected),
        )
