"""The numbers all frameworks start from: equal weights and equal data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

LABELS_SEED, INPUTS_SEED = 100_000, 100_001


class Weights:
    """Initial weights: the n-th matrix or kernel of a net is the same in every framework."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *shape: int) -> np.ndarray:
        """The next weight of shape (outputs, inputs, ...), scaled for its inputs."""
        values = normal(self.count, *shape)
        self.count += 1
        return values * np.float32(math.sqrt(2 / math.prod(shape[1:])))

    def initial(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """The value of a parameter from its name: vectors are scales (ones) or shifts (zeros)."""
        if len(shape) > 1:
            return self(*shape)
        scale = name.endswith(("weight", "gamma"))
        return np.full(shape, 1 if scale else 0, np.float32)


def normal(seed: int, *shape: int) -> np.ndarray:
    """Normally distributed numbers that depend on the seed alone."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def inputs(sizes: dict[str, Any]) -> np.ndarray:
    """Random numbers of the shape "inputs", or word numbers below "vocabulary"."""
    shape = sizes["inputs"]
    if "vocabulary" not in sizes:
        return normal(INPUTS_SEED, *shape)
    random = np.random.default_rng(INPUTS_SEED)
    return random.integers(0, sizes["vocabulary"], shape).astype(np.int32)


def labels(sizes: dict[str, Any]) -> np.ndarray:
    """As many class numbers as "labels" says."""
    random = np.random.default_rng(LABELS_SEED)
    return random.integers(0, sizes["classes"], sizes["labels"]).astype(np.int32)


def total(*arrays: Any) -> float:
    """The sum of all magnitudes, taken in float64: one number that tells arrays apart."""
    return float(sum(np.abs(np.asarray(a, np.float64)).sum() for a in arrays))


def system(size: int) -> tuple[np.ndarray, np.ndarray]:
    """A well conditioned matrix, and a start from which Newton's iteration finds its inverse."""
    matrix = np.eye(size, dtype=np.float32) + normal(0, size, size) * np.float32(0.2 / size**0.5)
    scale = np.abs(matrix).sum(0).max() * np.abs(matrix).sum(1).max()
    return matrix, matrix.T / scale
