"""Activation functions, some with in-place variants."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia.mint.float_functions import as_float
from mycelia.mint.reduction import implied_dim, in_dtype


def _put(input: Any, result: Any, inplace: bool) -> Any:
    """Return `result`; with `inplace`, write it into `input` first."""
    return input.copy_(result) if inplace else result


def relu(input: Any, inplace: bool = False) -> Any:
    """max(input, 0)."""
    return _put(input, ops.relu(input), inplace)


def relu_(input: Any) -> Any:
    """max(input, 0), in place."""
    return relu(input, True)


def relu6(input: Any, inplace: bool = False) -> Any:
    """min(max(input, 0), 6)."""
    return _put(input, ops.relu6(input), inplace)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """input where it is positive, else alpha (exp(input) - 1)."""
    curve = ops.elu(input)
    result = curve if alpha == 1 else ops.where(ops.greater(input, 0), curve, curve * alpha)
    return _put(input, result, inplace)


def elu_(input: Any, alpha: float = 1.0) -> Any:
    """The in-place variant of `elu`."""
    return elu(input, alpha, True)


def silu(input: Any, inplace: bool = False) -> Any:
    """input sigmoid(input)."""
    return _put(input, ops.silu(input), inplace)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """Clamp input to [min_val, max_val]."""
    return _put(input, ops.hardtanh(input, min_val, max_val), inplace)


def hardtanh_(input: Any, min_val: float = -1, max_val: float = 1) -> Any:
    """The in-place variant of `hardtanh`."""
    return hardtanh(input, min_val, max_val, True)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """input where it is above `threshold`, else `value`."""
    return _put(input, ops.threshold(input, threshold, value), inplace)


def threshold_(input: Any, threshold: float, value: float) -> Any:
    """The in-place variant of `threshold`."""
    return input.copy_(ops.threshold(input, threshold, value))


def sigmoid_(input: Any) -> Any:
    """1 / (1 + exp(-input)), in place."""
    return input.copy_(ops.sigmoid(input))


def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """input where it is positive, else negative_slope * input."""
    return ops.leaky_relu(input, negative_slope)


def gelu(input: Any, *, approximate: str = "none") -> Any:
    """input * Phi(input), with the normal CDF Phi; approximate='tanh' uses an approximation."""
    return ops.gelu(input, approximate)


def npu_gelu(input: Any, approximate: str = "none") -> Any:
    """input * Phi(input), with the normal CDF Phi; approximate='tanh' uses an approximation."""
    return ops.gelu(input, approximate)


def glu(input: Any, dim: int = -1) -> Any:
    """Gated linear unit: a * sigmoid(b) for the halves a, b of input along `dim`."""
    return ops.glu(input, dim)


def logsigmoid(input: Any) -> Any:
    """The logarithm of sigmoid(input)."""
    return ops.logsigmoid(input)


def mish(input: Any) -> Any:
    """input tanh(log(1 + exp(input)))."""
    return ops.mish(input)


def selu(input: Any) -> Any:
    """Scaled ELU, for self-normalizing networks (Klambauer et al. 2017)."""
    return ops.selu(input)


def softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Any:
    """Softmax along `dim`."""
    check_tensors("softmax", input=input)
    along = implied_dim(input) if dim is None else dim
    return ops.softmax(as_float(in_dtype(input, dtype)), along)
