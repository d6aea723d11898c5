"""Shared helpers of losses: checks of shapes and dtypes, and reductions."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_string
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array
from mycelia._engine.kernels.sums import summed
from mycelia._engine.operators.operator import unsupported_dtype

REDUCTIONS = ("none", "mean", "sum")


def check_reduction(owner: str, reduction: Any, allowed: tuple[str, ...] = REDUCTIONS) -> str:
    """`reduction` if it is one of `allowed`, else a ValueError."""
    return check_string(owner, "reduction", reduction, allowed)


def reduced(values: Array, reduction: str, dtype: Any) -> Array:
    """The losses, their mean, or their sum (by `reduction`), in `dtype`."""
    if reduction == "mean":
        values = summed(values) / values.size
    elif reduction == "sum":
        values = summed(values)
    elif reduction == "batchmean":
        values = summed(values) / (values.shape[0] if values.ndim else 1)
    return values.astype(dtype)


def reduced_type(type_: TensorType, reduction: str) -> TensorType:
    """Result type of `reduced` for values of `type_`."""
    return type_ if reduction == "none" else type_.with_shape(())


def check_alike(op: str, first: TensorType, second: TensorType, *, same_dtype: bool = True) -> None:
    """Checks that both are float tensors of one shape (and one dtype)."""
    if not first.dtype.is_float:
        raise unsupported_dtype(op, first, "a float tensor")
    if same_dtype and first.dtype is not second.dtype:
        raise problem(
            TypeError,
            f"{op}: the dtypes differ",
            got=f"{first} and {second}",
            expected="the same dtype for both",
            fix="cast one of them: x.astype(mycelia.float32)",
        )
    if first.shape != second.shape:
        raise problem(
            ValueError,
            f"{op}: the shapes differ",
            got=f"{first} and {second}",
            expected="the same shape for both",
        )


def check_rank(
    op: str, argument: str, type_: TensorType, rank: int, kind: Any = ValueError
) -> None:
    """Checks that `type_` has exactly `rank` dimensions."""
    if type_.ndim != rank:
        raise problem(
            kind,
            f"{op}: '{argument}' must have {rank} dimensions",
            got=str(type_),
        )


def check_labels(op: str, labels: TensorType) -> None:
    """Checks that class indices are int32 or int64."""
    if labels.dtype.short not in ("i32", "i64"):
        raise unsupported_dtype(op, labels, "class indices as int32 or int64")
