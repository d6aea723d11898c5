"""Mathematical layers: norms, moments, matrix products, and triangular matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool, check_instance, is_int, is_number
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia.nn.cell import Cell
from mycelia.ops.elementwise.arithmetic import abs, maximum, square
from mycelia.ops.elementwise.exponential import sqrt
from mycelia.ops.linalg.diagonal import tril, triu
from mycelia.ops.linalg.matmul import matmul
from mycelia.ops.reduction.reduction import ReduceMean, ReduceSum, logsumexp
from mycelia.ops.shapes.flip import roll
from mycelia.ops.shapes.reshape import cast
from mycelia.ops.shapes.views import swapaxes
from mycelia.tensor.tensor import Tensor


class Norm(Cell):
    """Euclidean norm along `axis`, or of the whole tensor."""

    def __init__(self, axis: Any = (), keep_dims: bool = False) -> None:
        super().__init__()
        self.axis = check_instance("Norm", "axis", axis, (int, tuple, list))
        self.keep_dims = check_bool("Norm", "keep_dims", keep_dims)
        self.reduce_sum = ReduceSum(keep_dims)

    def construct(self, x: Any) -> Any:
        if not x.dtype.is_float:
            x = cast(x, dtypes.float32)
        return sqrt(self.reduce_sum(square(x), self.axis))

    def extend_repr(self) -> str:
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


class ClipByNorm(Cell):
    """Scales x down where its Euclidean norm along `axis` exceeds `clip_norm`."""

    def __init__(self, axis: Any = None) -> None:
        super().__init__()
        if axis is not None:
            check_instance("ClipByNorm", "axis", axis, (int, tuple, list))
        self.axis = () if axis is None else axis

    def construct(self, x: Any, clip_norm: Any) -> Any:
        if x.dtype not in (dtypes.float16, dtypes.float32):
            raise wrong_type("ClipByNorm", "x", x, "a tensor of float16 or float32")
        return clipped(cast(x, dtypes.float32), clip_norm, self.axis)


def clipped(x: Any, clip_norm: Any, axis: Any) -> Any:
    """Scale `x` down where its Euclidean norm along `axis` exceeds `clip_norm`."""
    norm = sqrt(ReduceSum.of(True)(square(x), axis))
    return x * clip_norm / maximum(norm, clip_norm)


class Range(Cell):
    """The values from `start` up to but excluding `limit`, in steps of `delta`."""

    def __init__(self, start: Any, limit: Any = None, delta: Any = 1) -> None:
        super().__init__()
        if delta == 0:
            raise problem(ValueError, "Range: the 'delta' can not be zero.")
        numbers = np.arange(start, stop=limit, step=delta)
        dtype = np.float32 if numbers.dtype.kind == "f" else np.int32
        self.result_tensor = Tensor(numbers.astype(dtype))

    def construct(self) -> Any:
        return self.result_tensor


class Roll(Cell):
    """Shifts elements cyclically by `shift` along `axis`."""

    def __init__(self, shift: Any, axis: Any) -> None:
        super().__init__()
        self.shift = _as_ints("shift", shift)
        self.axis = _as_ints("axis", axis)
        if len(self.shift) != len(self.axis):
            raise problem(
                ValueError,
                "Roll: 'shift' and 'axis' must have the same length",
                got=f"{len(self.shift)} shifts and {len(self.axis)} axes",
            )

    def construct(self, input_x: Any) -> Any:
        for axis in self.axis:
            if not -len(input_x.shape) <= axis < len(input_x.shape):
                raise wrong_value("Roll", "axis", axis, f"an axis of shape {input_x.shape}")
        return roll(input_x, self.shift, self.axis)


def _as_ints(argument: str, value: Any) -> tuple[int, ...]:
    numbers = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for number in numbers:
        if not is_int(number):
            raise wrong_type("Roll", argument, value, "int, tuple or list")
    return numbers


class Tril(Cell):
    """Lower triangle up to the diagonal `k`; other elements are 0."""

    def construct(self, x: Any, k: int = 0) -> Any:
        if not is_int(k):
            raise wrong_type("Tril", "k", k, "int")
        return tril(x, k)


class Triu(Cell):
    """Upper triangle from the diagonal `k`; other elements are 0."""

    def construct(self, x: Any, k: int = 0) -> Any:
        if not is_int(k):
            raise wrong_type("Triu", "k", k, "int")
        return triu(x, k)


class MatMul(Cell):
    """Matrix product, batched for inputs with more than two axes."""

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False) -> None:
        super().__init__()
        self.transpose_x1 = check_bool("MatMul", "transpose_x1", transpose_x1)
        self.transpose_x2 = check_bool("MatMul", "transpose_x2", transpose_x2)

    def construct(self, x1: Any, x2: Any) -> Any:
        if self.transpose_x1 and len(x1.shape) > 1:
            x1 = swapaxes(x1, -1, -2)
        if self.transpose_x2 and len(x2.shape) > 1:
            x2 = swapaxes(x2, -1, -2)
        return matmul(x1, x2)


class Moments(Cell):
    """Mean and variance along `axis`, or of the whole tensor."""

    def __init__(self, axis: Any = None, keep_dims: bool | None = None) -> None:
        super().__init__()
        self.axis = () if axis is None else check_instance("Moments", "axis", axis, (int, tuple))
        if keep_dims is not None:
            check_bool("Moments", "keep_dims", keep_dims)
        self.keep_dims = bool(keep_dims)
        self.mean_kept = ReduceMean(True)
        self.mean = ReduceMean(self.keep_dims)

    def construct(self, x: Any) -> tuple[Any, Any]:
        dtype = x.dtype
        if dtype not in (dtypes.float16, dtypes.float32):
            raise wrong_type("Moments", "x", x, "a tensor of float16 or float32")
        x = cast(x, dtypes.float32)
        variance = self.mean(square(x - self.mean_kept(x, self.axis)), self.axis)
        return cast(self.mean(x, self.axis), dtype), cast(variance, dtype)


class ReduceLogSumExp(Cell):
    """Logarithm of the sum of exponentials along `axis`."""

    def __init__(self, axis: Any, keep_dims: bool = False) -> None:
        super().__init__()
        self.axis = check_instance("ReduceLogSumExp", "axis", axis, (int, list, tuple))
        self.keep_dims = check_bool("ReduceLogSumExp", "keep_dims", keep_dims)

    def construct(self, x: Any) -> Any:
        return logsumexp(x, self.axis, self.keep_dims)


class L1Regularizer(Cell):
    """L1 regularization: `scale` times the sum of absolute values of the weights."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        if not is_number(scale):
            raise wrong_type("L1Regularizer", "scale", scale, "int or float")
        if not 0 < scale < math.inf:
            raise wrong_value("L1Regularizer", "scale", scale, "a number above 0, not infinite")
        self.scale = scale
        self.reduce_sum = ReduceSum()

    def construct(self, weights: Any) -> Any:
        if not weights.dtype.is_float:
            weights = cast(weights, dtypes.float32)
        return self.scale * self.reduce_sum(abs(weights), ())
