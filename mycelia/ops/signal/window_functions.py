"""Window functions: Hann, Hamming, Blackman, Bartlett, Kaiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_float, check_non_negative_int
from mycelia._engine.core.dtype import DType, as_dtype, float32, float64
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op

_LENGTHS = (case(5), case(4, periodic=False), case(1), case(0))


class SignalWindow(Op, register=False):
    """Base of windows of `window_length` weights; periodic ones omit the last weight."""

    static = ("window_length",)
    differentiable = False
    periodic: bool = True

    def normalize(self) -> dict[str, Any]:
        check_bool(type(self).__name__, "periodic", self.periodic)
        wanted = as_dtype(self.kind)
        if not wanted.is_float:
            raise problem(TypeError, f"{self.name}: dtype must be a float", got=str(wanted))
        return {"dtype": wanted}

    @property
    def kind(self) -> DType:
        """Dtype of the weights; it is the last attribute, as in the functions."""
        return self.__dict__["dtype"]

    def weights(self, positions: np.ndarray, steps: int) -> np.ndarray:
        """Weights at `positions` of a window that ends at `steps`."""
        raise TypeError(f"{self.name} does not define its weights")

    def infer(self, window_length: Any) -> TensorType:
        return TensorType(self.kind, (_length(self.name, window_length),))

    def lower(self, window_length: Any) -> Array:
        return jnp.asarray(self.host(window_length))

    def host(self, window_length: Any) -> np.ndarray:
        count = _length(self.name, window_length)
        if count <= 1:
            return np.ones(count, self.kind.numpy)
        steps = count if self.periodic else count - 1
        return np.asarray(self.weights(np.arange(count), steps)).astype(self.kind.numpy)


class BartlettWindow(SignalWindow):
    """Bartlett (triangular) window."""

    dtype: DType = float32
    examples = _LENGTHS

    def weights(self, positions: np.ndarray, steps: int) -> np.ndarray:
        return 1 - np.abs(2 * positions / steps - 1)


class BlackmanWindow(SignalWindow):
    """Blackman window: a sum of two cosines that almost reaches zero at its ends."""

    dtype: DType = float32
    examples = _LENGTHS

    def weights(self, positions: np.ndarray, steps: int) -> np.ndarray:
        turn = 2 * np.pi * positions / steps
        return 0.42 - 0.5 * np.cos(turn) + 0.08 * np.cos(2 * turn)


class HammingWindow(SignalWindow):
    """Hamming window: `alpha` minus `beta` times a cosine."""

    alpha: float = 0.54
    beta: float = 0.46
    dtype: DType = float32
    examples = (*_LENGTHS, case(4, alpha=0.6, beta=0.4))

    def normalize(self) -> dict[str, Any]:
        for name in ("alpha", "beta"):
            check_float("HammingWindow", name, getattr(self, name))
        return super().normalize()

    def weights(self, positions: np.ndarray, steps: int) -> np.ndarray:
        return self.alpha - self.beta * np.cos(2 * np.pi * positions / steps)


class HannWindow(SignalWindow):
    """Hann window: a raised cosine that reaches zero at its ends."""

    dtype: DType = float32
    examples = _LENGTHS

    def weights(self, positions: np.ndarray, steps: int) -> np.ndarray:
        return 0.5 - 0.5 * np.cos(2 * np.pi * positions / steps)


class KaiserWindow(SignalWindow):
    """Kaiser window: `beta` sets its width, through the Bessel function of order 0."""

    beta: float = 12.0
    dtype: DType = float32
    examples = (*_LENGTHS, case(6, beta=3.0))

    def normalize(self) -> dict[str, Any]:
        check_float("KaiserWindow", "beta", self.beta)
        return super().normalize()

    def weights(self, positions: np.ndarray, steps: int) -> np.ndarray:
        height = np.sqrt(np.maximum(0.0, 1 - (2 * positions / steps - 1) ** 2))
        return np.i0(self.beta * height) / np.i0(self.beta)


def bartlett_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Any:
    """Bartlett (triangular) window of `window_length` weights."""
    return _made(BartlettWindow, window_length, periodic, dtype=dtype)


def blackman_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Any:
    """Blackman window of `window_length` weights."""
    return _made(BlackmanWindow, window_length, periodic, dtype=dtype)


def hann_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Any:
    """Hann window of `window_length` weights."""
    return _made(HannWindow, window_length, periodic, dtype=dtype or float64)


def hamming_window(
    window_length: Any,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
) -> Any:
    """Hamming window of `window_length` weights."""
    return _made(HammingWindow, window_length, periodic, alpha, beta, dtype=dtype)


def kaiser_window(
    window_length: Any, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None
) -> Any:
    """Kaiser window of `window_length` weights."""
    return _made(KaiserWindow, window_length, periodic, beta, dtype=dtype or float64)


def _made(kind: Callable[..., SignalWindow], length: Any, *fields: Any, dtype: Any) -> Any:
    return kind(*fields, dtype=dtype or float32)(length)


def _length(owner: str, value: Any) -> int:
    count = value[0] if isinstance(value, tuple) and len(value) == 1 else value
    return check_non_negative_int(owner, "window_length", count)
