"""Activation layers."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_positive_int, check_string
from mycelia.mint.nn import functional as F
from mycelia.nn.cell import Cell
from mycelia.tensor.initializer import initializer
from mycelia.tensor.parameter import Parameter


class ReLU(Cell):
    """max(x, 0)."""

    def __init__(self) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return F.relu(input)


class Sigmoid(Cell):
    """1 / (1 + exp(-x))."""

    def __init__(self) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return F.sigmoid(input)


class Tanh(Cell):
    """Hyperbolic tangent."""

    def __init__(self) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return F.tanh(input)


class LogSigmoid(Cell):
    """The logarithm of sigmoid(x)."""

    def __init__(self) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return F.logsigmoid(input)


class Hardsigmoid(Cell):
    """Piecewise linear approximation of sigmoid: (x + 3) / 6, clamped to [0, 1]."""

    def __init__(self) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return F.hardsigmoid(input)


class Hardswish(Cell):
    """x times the hard sigmoid of x."""

    def __init__(self) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return F.hardswish(input)


class SELU(Cell):
    """Scaled ELU, for self-normalizing networks (Klambauer et al. 2017)."""

    def construct(self, input: Any) -> Any:
        return F.selu(input)


class Mish(Cell):
    """x tanh(log(1 + exp(x)))."""

    def construct(self, input: Any) -> Any:
        return F.mish(input)


class ReLU6(Cell):
    """min(max(x, 0), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return F.relu6(input, self.inplace)


class SiLU(Cell):
    """x sigmoid(x)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def construct(self, x: Any) -> Any:
        return F.silu(x, self.inplace)


class ELU(Cell):
    """x where it is positive, else alpha (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return F.elu(input, self.alpha, self.inplace)


class GELU(Cell):
    """x * Phi(x), with the standard normal CDF Phi; approximate='tanh' uses an approximation."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = check_string("GELU", "approximate", approximate, ("none", "tanh"))

    def construct(self, input: Any) -> Any:
        return F.gelu(input, approximate=self.approximate)


class GLU(Cell):
    """Gated linear unit: a * sigmoid(b) for the halves a, b of x along `dim` (Dauphin 2016)."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Any:
        return F.glu(input, self.dim)


class Hardshrink(Cell):
    """x where |x| > lambd, else 0."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, input: Any) -> Any:
        return F.hardshrink(input, self.lambd)


class Softshrink(Cell):
    """Soft shrinkage: sign(x) * max(|x| - lambd, 0)."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, input: Any) -> Any:
        return F.softshrink(input, self.lambd)


class Hardtanh(Cell):
    """Clamp x to [min_val, max_val]."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class Threshold(Cell):
    """x where it is above `threshold`, else `value`."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return F.threshold(input, self.threshold, self.value, self.inplace)


class Softmax(Cell):
    """Softmax along `dim`."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Any:
        return F.softmax(input, self.dim)


class LogSoftmax(Cell):
    """The logarithm of softmax along `dim`."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, x: Any) -> Any:
        return F.log_softmax(x, self.dim)


class PReLU(Cell):
    """Leaky ReLU with a learned slope, shared or per channel (axis 1)."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Any = None) -> None:
        super().__init__()
        shape = (check_positive_int("PReLU", "num_parameters", num_parameters),)
        slope = initializer(float(init), shape, dtype or dtypes.float32)
        self.weight = Parameter(slope, name="weight")

    def construct(self, input: Any) -> Any:
        return F.prelu(input, self.weight)
