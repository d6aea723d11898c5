"""The base class of losses, which reduces elementwise losses to a scalar."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import DType, float32
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.nn.cell import Cell
from mycelia.ops.elementwise.arithmetic import Mul, mul
from mycelia.ops.reduction.reduction import ReduceMean, ReduceSum
from mycelia.ops.shapes.reshape import Cast, cast
from mycelia.tensor.tensor import Tensor

REDUCTIONS = ("mean", "sum", "none")


class LossBase(Cell):
    """Base class of losses. Subclasses return `self.get_loss` of their elementwise losses.

    `reduction` is "mean", "sum", or "none", which keeps the elementwise losses.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in REDUCTIONS:
            raise problem(
                ValueError,
                f"For '{type(self).__name__}', the 'reduction' must be in {list(REDUCTIONS)}",
                got=repr(reduction),
            )
        self.reduction = reduction
        self.average = reduction != "sum"
        self.reduce = reduction != "none"
        self.reduce_mean = ReduceMean.of()
        self.reduce_sum = ReduceSum.of()
        self.mul = Mul.of()
        self.cast = Cast.of()

    def get_axis(self, x: Any) -> tuple[int, ...]:
        """All axes of `x`."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Any, weights: Any = 1.0) -> Any:
        """Multiply elementwise losses by `weights` and reduce them, in float32 or wider."""
        dtype = x.dtype
        wide = accumulation_dtype(dtype)
        x = cast(x, wide)
        if isinstance(weights, Tensor):
            x = mul(cast(weights, wide), x)
        elif weights != 1.0:
            x = mul(x, float(weights))
        if self.reduce and self.average:
            x = self.reduce_mean(x, self.get_axis(x))
        if self.reduce and not self.average:
            x = self.reduce_sum(x, self.get_axis(x))
        return cast(x, dtype)

    def construct(self, logits: Any, labels: Any) -> Any:
        raise problem(
            NotImplementedError,
            f"the loss {type(self).__name__} has no construct",
            fix="define construct(self, logits, labels) and return self.get_loss(...) there",
        )


def accumulation_dtype(dtype: DType) -> DType:
    """The dtype in which losses of `dtype` are accumulated: at least float32."""
    return dtype if dtype.is_inexact and dtype.bits >= 32 else float32


def check_tensor(owner: str, argument: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise wrong_type(owner, argument, value, "Tensor")


def check_optional_tensor(owner: str, argument: str, value: Any) -> None:
    if value is not None:
        check_tensor(owner, argument, value)


def check_real_float(owner: str, argument: str, value: Any) -> float:
    """Check for a Python float; losses reject ints for these parameters."""
    if not isinstance(value, float):
        raise wrong_type(owner, argument, value, "float")
    return value
