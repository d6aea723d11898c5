"""Argument checks of the linear algebra functions."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.dtype import complex64, complex128, float32, float64, int32, int64
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.tensor import Tensor

REAL = (int32, int64, float32, float64)
ALL = (*REAL, complex64, complex128)


def as_tensor(owner: str, argument: str, value: Any, allowed: tuple[Any, ...] = REAL) -> Any:
    """Convert to a tensor of an allowed dtype; integers become float64."""
    if not isinstance(value, Tensor):
        raise wrong_type(owner, argument, value, "Tensor")
    if value.dtype not in allowed:
        raise problem(
            TypeError,
            f"{owner}: '{argument}' has an unsupported dtype",
            got=str(value.dtype),
            expected=", ".join(str(d) for d in allowed),
            fix=f"cast it: {argument}.astype(mycelia.float32)",
        )
    return cast(value, float64) if value.dtype.is_integer else value


def as_matrix(
    owner: str,
    argument: str,
    value: Any,
    *,
    square: bool = False,
    allowed: tuple[Any, ...] = REAL,
) -> Any:
    """Convert to a single matrix of an allowed dtype."""
    tensor = as_tensor(owner, argument, value, allowed)
    if tensor.ndim != 2:
        raise problem(
            ValueError,
            f"{owner}: '{argument}' must be a matrix",
            got=f"shape {tensor.shape}",
            expected="2 axes",
        )
    if square and tensor.shape[0] != tensor.shape[1]:
        raise problem(
            ValueError,
            f"{owner}: '{argument}' must be square",
            got=f"shape {tensor.shape}",
        )
    return tensor


def check_system(owner: str, a: Any, b: Any) -> None:
    """Check that a right-hand side, a vector or a matrix, matches the matrix."""
    if a.dtype is not b.dtype:
        raise problem(
            TypeError,
            f"{owner}: a and b have different dtypes",
            got=f"{a.dtype} and {b.dtype}",
        )
    if b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise problem(
            ValueError,
            f"{owner}: the shapes of a and b do not match",
            got=f"{a.shape} and {b.shape}",
            expected="(N, N) and (N,) or (N, M)",
        )


def check_flags(owner: str, **flags: Any) -> None:
    """Check that these arguments are bools."""
    for name, value in flags.items():
        check_bool(owner, name, value)
