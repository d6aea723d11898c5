"""What is compared: a layer or an operator with random settings, and its float64 reference."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import mycelia as ms

Settings = dict[str, Any]
REAL = ("float32", "float64")
ALL = ("float32", "float32", "float64", "float16", "bfloat16")


@dataclass(frozen=True)
class Problem:
    """A computation on tensors, the same on float64 arrays, and arguments for both."""

    call: Callable[..., Any]
    reference: Callable[..., Any]  # of the inputs and then the weights
    inputs: tuple[np.ndarray, ...]  # those of whole numbers are not differentiated
    weights: tuple[ms.Parameter, ...] = ()
    order: int = 2  # of the derivatives that are compared
    is_linear: bool = False  # in its inputs, piece by piece: the second derivative is zero
    is_kinked: bool = False  # perhaps: second derivatives are compared between modes only
    constants: tuple[int, ...] = ()  # inputs that have no gradient


@dataclass(frozen=True)
class Subject:
    """Random settings of one layer or operator, and the problem that settings make."""

    name: str
    group: str
    draw: Callable[[random.Random], Settings]
    problem: Callable[[Settings, Values], Problem]
    fits: Callable[[Settings], bool] = lambda settings: True
    dtypes: Sequence[str] = REAL


class Values:
    """Random arrays and weights of one dtype."""

    def __init__(self, seed: int, dtype: str) -> None:
        self.random = np.random.default_rng(seed)
        self.name, self.dtype = dtype, getattr(ms, dtype)

    def normal(self, *shape: int) -> np.ndarray:
        return self._made(self.random.normal(size=shape))

    def distinct(self, *shape: int) -> np.ndarray:
        """Numbers from -2 to 2 in equal distances, in random order: no two are alike."""
        count = int(np.prod(shape))
        return self._made((self.random.permutation(count) * 4 / max(count, 1) - 2).reshape(shape))

    def uniform(self, low: float, high: float, *shape: int) -> np.ndarray:
        return self._made(self.random.uniform(low, high, shape))

    def integers(self, low: int, high: int, *shape: int) -> np.ndarray:
        return self.random.integers(low, high, shape).astype(np.int32)

    def weights(self, net: ms.nn.Cell) -> tuple[ms.Parameter, ...]:
        """The trainable parameters of a net, with new random values."""
        found = tuple(net.trainable_params())
        for parameter in found:
            parameter.set_data(ms.Tensor(self.weight(parameter.name, *parameter.shape)))
        return found

    def weight(self, name: str, *shape: int) -> np.ndarray:
        if "gamma" in name or "norm" in name:
            return self._made(1 + 0.3 * self.random.normal(size=shape))
        fan = max(1, int(np.prod(shape[1:])) if len(shape) > 1 else 4)
        return self._made(self.random.normal(size=shape) / np.sqrt(fan))

    def _made(self, numbers: np.ndarray) -> np.ndarray:
        return np.asarray(numbers).astype(self.dtype.numpy)
