"""Activation layers, and a lookup by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_instance, check_positive_int, is_number
from mycelia._engine.core.errors import did_you_mean, problem, wrong_type
from mycelia.nn.cell import Cell
from mycelia.ops.activation.piecewise import (
    celu,
    elu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    prelu,
    relu,
    relu6,
    rrelu,
    selu,
    softshrink,
    threshold,
)
from mycelia.ops.activation.smooth import (
    fast_gelu,
    gelu,
    glu,
    logsigmoid,
    mish,
    sigmoid,
    silu,
    softsign,
    tanh,
    tanhshrink,
)
from mycelia.ops.activation.softmax import Softmax as SoftmaxOp
from mycelia.ops.activation.softmax import log_softmax, softmax, softmin
from mycelia.tensor.initializer import initializer
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class ReLU(Cell):
    """Rectified linear unit: max(x, 0)."""

    def construct(self, x: Any) -> Any:
        return relu(x)


class ReLU6(Cell):
    """ReLU clipped at 6: min(max(x, 0), 6)."""

    def construct(self, x: Any) -> Any:
        return relu6(x)


class LeakyReLU(Cell):
    """Leaky ReLU: x where positive, else alpha x."""

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Any) -> Any:
        return leaky_relu(x, self.alpha)


class RReLU(Cell):
    """Randomized leaky ReLU: negative slopes are drawn from [lower, upper] at each call."""

    def __init__(self, lower: float = 0.125, upper: float = 1.0 / 3) -> None:
        super().__init__()
        for argument, value in (("lower", lower), ("upper", upper)):
            if not is_number(value):
                raise wrong_type("RReLU", argument, value, "float or int")
        if lower > upper:
            raise problem(
                ValueError,
                "RReLU: the value of 'upper' must be greater than or equal to 'lower'",
                got=f"lower={lower}, upper={upper}",
            )
        self.lower = lower
        self.upper = upper

    def construct(self, x: Any) -> Any:
        return rrelu(x, self.lower, self.upper)


class ELU(Cell):
    """Exponential linear unit: x where positive, else alpha (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Any) -> Any:
        return elu(x, self.alpha)


class CELU(Cell):
    """Continuously differentiable ELU: max(x, 0) + min(alpha (exp(x / alpha) - 1), 0)."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Any) -> Any:
        return celu(x, self.alpha)


class SeLU(Cell):
    """Scaled ELU for self-normalizing networks (Klambauer et al. 2017)."""

    def construct(self, input_x: Any) -> Any:
        return selu(input_x)


class SiLU(Cell):
    """Sigmoid linear unit (swish): x sigmoid(x)."""

    def construct(self, x: Any) -> Any:
        return silu(x)


class GELU(Cell):
    """Gaussian error linear unit: x Phi(x), by the tanh approximation if `approximate`."""

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        self.approximate = check_instance("GELU", "approximate", approximate, bool)
        self.form = "tanh" if approximate else "none"

    def construct(self, x: Any) -> Any:
        return gelu(x, self.form)


class FastGelu(Cell):
    """GELU approximated by a sigmoid: x sigmoid(1.702 x)."""

    def construct(self, x: Any) -> Any:
        return fast_gelu(x)


class Sigmoid(Cell):
    """Logistic sigmoid: 1 / (1 + exp(-x))."""

    def construct(self, input_x: Any) -> Any:
        return sigmoid(input_x)


class LogSigmoid(Cell):
    """Logarithm of the sigmoid."""

    def construct(self, input_x: Any) -> Any:
        return logsigmoid(input_x)


class Tanh(Cell):
    """Hyperbolic tangent."""

    def construct(self, x: Any) -> Any:
        return tanh(x)


class Tanhshrink(Cell):
    """x - tanh(x)."""

    def construct(self, input: Any) -> Any:
        return tanhshrink(input)


class PReLU(Cell):
    """Leaky ReLU with a learned slope, one for all channels or one for each (axis 1)."""

    def __init__(self, channel: int = 1, w: Any = 0.25) -> None:
        super().__init__()
        check_positive_int("PReLU", "channel", channel)
        self.w = Parameter(_slope(channel, w), name="a")

    def construct(self, x: Any) -> Any:
        return prelu(x, self.w)


def _slope(channel: int, w: Any) -> Tensor:
    if isinstance(w, (float, np.float32)):
        return initializer(float(w), (channel,))
    if isinstance(w, list):
        w = Tensor(w, dtypes.float32)
    if not isinstance(w, Tensor):
        raise wrong_type("PReLU", "w", w, "float, list or Tensor")
    if w.dtype not in (dtypes.float16, dtypes.float32):
        raise problem(
            ValueError,
            "PReLU: the dtype of 'w' must be float16 or float32",
            got=str(w.dtype),
        )
    if w.shape != (channel,):
        raise problem(
            ValueError,
            "PReLU: 'w' must hold one slope for each channel",
            got=f"w of shape {w.shape} and {channel} channels",
            expected=f"shape ({channel},)",
        )
    return w


class Softmax(Cell):
    """Softmax along `axis`."""

    def __init__(self, axis: Any = -1) -> None:
        super().__init__()
        check_instance("Softmax", "axis", axis, (int, tuple))
        self.softmax = SoftmaxOp(axis)

    def construct(self, input: Any) -> Any:
        return self.softmax(input)


class Softmax2d(Cell):
    """Softmax over the channels of images (N, C, H, W) or (C, H, W)."""

    def construct(self, input: Any) -> Any:
        if len(input.shape) not in (3, 4):
            raise problem(
                ValueError,
                "Softmax2d: the input must have 3 or 4 dimensions",
                got=f"shape {input.shape}",
            )
        return softmax(input, -3)


class Softmin(Cell):
    """Softmin: the softmax of -x along `axis`."""

    def __init__(self, axis: Any = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Any) -> Any:
        return softmin(x, self.axis)


class LogSoftmax(Cell):
    """Logarithm of the softmax along `axis`."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Any) -> Any:
        return log_softmax(x, self.axis)


class HSigmoid(Cell):
    """Hard sigmoid, a piecewise linear approximation: (x + 3) / 6 clipped to [0, 1]."""

    def construct(self, input_x: Any) -> Any:
        return hardsigmoid(input_x)


class HSwish(Cell):
    """Hard swish: x times the hard sigmoid of x."""

    def construct(self, x: Any) -> Any:
        return hardswish(x)


class HShrink(Cell):
    """Hard shrinkage: x where |x| > `lambd`, else 0."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = check_instance("HShrink", "lambd", lambd, (int, float))

    def construct(self, input_x: Any) -> Any:
        return hardshrink(input_x, self.lambd)


class SoftShrink(Cell):
    """Soft shrinkage: sign(x) max(|x| - `lambd`, 0)."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = check_instance("SoftShrink", "lambd", lambd, (int, float))

    def construct(self, input_x: Any) -> Any:
        return softshrink(input_x, self.lambd)


class Softsign(Cell):
    """Softsign: x / (1 + |x|)."""

    def construct(self, x: Any) -> Any:
        return softsign(x)


class Mish(Cell):
    """Mish: x tanh(log(1 + exp(x)))."""

    def construct(self, input_x: Any) -> Any:
        return mish(input_x)


class Hardtanh(Cell):
    """Clips x to [min_val, max_val]."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        if min_val >= max_val:
            raise problem(
                ValueError,
                "Hardtanh: min_val should be less than max_val",
                got=f"{min_val} and {max_val}",
            )
        self.min_val = min_val
        self.max_val = max_val

    def construct(self, x: Any) -> Any:
        return hardtanh(x, self.min_val, self.max_val)


class Threshold(Cell):
    """Threshold: x where it is above `threshold`, else `value`."""

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value

    def construct(self, input_x: Any) -> Any:
        return threshold(input_x, self.threshold, self.value)


class GLU(Cell):
    """Gated linear unit: one half of x along `axis` times the sigmoid of the other half."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Any) -> Any:
        return glu(x, self.axis)


_BY_NAME: dict[str, Callable[[], Cell]] = {
    "softmin": Softmin,
    "softmax": Softmax,
    "softmax2d": Softmax2d,
    "logsoftmax": LogSoftmax,
    "relu": ReLU,
    "relu6": ReLU6,
    "rrelu": RReLU,
    "silu": SiLU,
    "tanh": Tanh,
    "tanhshrink": Tanhshrink,
    "hardtanh": Hardtanh,
    "gelu": GELU,
    "fast_gelu": FastGelu,
    "elu": ELU,
    "sigmoid": Sigmoid,
    "softsign": Softsign,
    "prelu": PReLU,
    "leakyrelu": LeakyReLU,
    "hswish": HSwish,
    "hsigmoid": HSigmoid,
    "logsigmoid": LogSigmoid,
    "softshrink": SoftShrink,
    "hshrink": HShrink,
    "mish": Mish,
}


def get_activation(name: str | None, prim_name: str | None = None) -> Cell | None:
    """Create an activation layer from its lower-case name; returns None for None."""
    if name is None:
        return None
    if not isinstance(name, str) or name not in _BY_NAME:
        owner = f"For '{prim_name}', the" if prim_name else "The"
        raise problem(
            KeyError,
            f"{owner} 'name' must be in {list(_BY_NAME)}, but got {name}.",
            fix=did_you_mean(name, _BY_NAME),
        )
    return _BY_NAME[name]()
