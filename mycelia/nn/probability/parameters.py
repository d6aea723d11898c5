"""Parameters of distributions and bijectors: made into tensors and checked."""

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
    """A parameter as a tensor of `dtype`; a Parameter stays itself, None stays None."""
    if value is None or isinstance(value, Parameter):
        return value
    if isinstance(value, Tensor):
        return cast(value, dtype) if value.dtype is not dtype else value
    if isinstance(value, bool) or not isinstance(value, (int, float, list, tuple, np.ndarray)):
        raise problem(
            TypeError,
            f"a parameter does not make a tensor of {dtype}",
            got=repr(value),
            expected="a number, a list, an array or a Tensor",
        )
    return Tensor(np.asarray(value, dtype.numpy))


def parameter_dtype(values: Iterable[Any], dtype: DType | None) -> DType:
    """The float dtype to compute in: `dtype` if it is one, else float16 or float32."""
    if dtype is not None and dtype.is_float:
        return dtype
    halves = [v for v in values if isinstance(v, Tensor) and v.dtype is dtypes.float16]
    return dtypes.float16 if halves else dtypes.float32


def check_tensor(value: Any, name: str) -> Any:
    """A tensor as it is; anything else is an error."""
    if not isinstance(value, Tensor):
        raise problem(
            TypeError,
            f"{name}: is no Tensor",
            got=repr(value),
            fix=f"wrap it: Tensor({value!r})",
        )
    return value


def check_limit(limit: Limit, value: Any, title: str) -> None:
    """Apply `limit` to the numbers of a tensor, if they are known already."""
    if value is not None and not is_symbolic(value):
        limit(value.asnumpy(), title)


def positive(numbers: np.ndarray, title: str) -> None:
    if not (numbers > 0).all():
        raise problem(ValueError, f"{title}: must be above 0", got=str(numbers))


def not_negative(numbers: np.ndarray, title: str) -> None:
    if not (numbers >= 0).all():
        raise problem(ValueError, f"{title}: must be 0 or more", got=str(numbers))


def probability(numbers: np.ndarray, title: str) -> None:
    """Strictly between 0 and 1."""
    if not ((numbers > 0) & (numbers < 1)).all():
        raise problem(ValueError, f"{title}: must lie between 0 and 1", got=str(numbers))


def shares(numbers: np.ndarray, title: str) -> None:
    """Probabilities that add up to 1 along the last axis."""
    if numbers.ndim < 1:
        raise problem(
            ValueError,
            f"{title}: one number is no list of shares",
            got=str(numbers),
            fix="give the probabilities of all classes",
        )
    probability(numbers, title)
    if not np.allclose(numbers.astype(np.float64).sum(-1), 1, rtol=1e-3):
        raise problem(
            ValueError,
            f"{title}: do not add up to 1",
            got=str(numbers),
            expected="sums of 1 along the last axis",
        )


def common_shape(values: Iterable[Any], owner: str) -> Shape:
    """The shape all tensors broadcast to."""
    return broadcast(*(v.shape for v in values), op=owner)


def broadcast_all(values: list[Any], owner: str) -> list[Any]:
    """All tensors in their common shape."""
    shape = common_shape(values, owner)
    return [v if v.shape == shape else broadcast_to(v, shape) for v in values]


def check_other_type(dist: Any, expected: str) -> None:
    """The other distribution of `kl_loss` must be of the same type."""
    if dist != expected:
        raise problem(
            ValueError,
            f"{expected}: can be compared with its own kind only",
            got=repr(dist),
            expected=repr(expected),
        )
