"""Internal names of `mindspore.common.initializer`: fans, gains, and random arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.seed import next_generator
from mycelia.tensor.initializer import _ALIASES, _check_mode, fans, gain_of, truncated_normal


def _assignment(arr: np.ndarray, num: Any) -> np.ndarray:
    """Write a number, or an array of the same shape, into `arr`."""
    if arr.shape == ():
        arr = arr.reshape(1)
    arr[...] = num
    return arr


def _numpy_seed() -> int:
    """Seed for NumPy derived from `set_seed`."""
    return int(next_generator().integers(1 << 31))


def _calculate_fan_in_and_fan_out(shape: Any) -> tuple[int, int]:
    """Fan-in and fan-out of a weight of `shape`."""
    if len(shape) < 2:
        raise problem(
            ValueError,
            "the fans of a tensor with fewer than 2 dimensions are not defined",
            got=f"shape {tuple(shape)}",
        )
    return fans(tuple(shape))


def _calculate_in_and_out(arr: Any) -> tuple[int, int]:
    """Fan-in and fan-out of an array, in the reverse order."""
    return _calculate_fan_in_and_fan_out(arr.shape)[::-1]


def _calculate_correct_fan(shape: Any, mode: str) -> int:
    """Fan selected by `mode` (fan_in or fan_out)."""
    fans = _calculate_fan_in_and_fan_out(shape)
    return fans[0] if _check_mode(mode.lower()) == "fan_in" else fans[1]


def _calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Gain of a nonlinearity: the recommended scale of its weights."""
    return gain_of(nonlinearity) if param is None else gain_of(nonlinearity, param)


def _init_random_normal(mean: float, sigma: float, shape: Any) -> np.ndarray:
    """Samples from a normal distribution."""
    return next_generator().normal(mean, sigma, shape).astype(np.float32)


def _init_random_uniform(a: float, b: float, shape: Any) -> np.ndarray:
    """Samples from a uniform distribution."""
    return next_generator().uniform(a, b, shape).astype(np.float32)


def _init_truncated_normal(a: float, b: float, mean: float, sigma: float, shape: Any) -> np.ndarray:
    """Samples from a normal distribution truncated at `a` and `b` deviations."""
    values = truncated_normal(next_generator(), tuple(shape), a, b) * sigma + mean
    return values.astype(np.float32)


def _register(*aliases: str) -> Callable[[type], type]:
    """Decorator that registers an Initializer under additional names."""

    def decorate(cls: type) -> type:
        _ALIASES.update({alias.lower(): cls.__name__.lower() for alias in aliases})
        return cls

    return decorate
