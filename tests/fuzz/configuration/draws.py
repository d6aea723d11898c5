"""Random sizes: small ones, and ones just below, at, and above thresholds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import prod

Sizes = tuple[int, ...]


def some(rng: random.Random, count: int, least: int, most: int) -> Sizes:
    return tuple(rng.randint(least, most) for _ in range(count))


def around(rng: random.Random, *thresholds: int) -> int:
    """A number just below, at, or just above one of the thresholds."""
    return max(1, rng.choice(thresholds) + rng.choice((-1, 0, 0, 1)))


def size_or_threshold(rng: random.Random, most: int, *thresholds: int, share: float = 0.3) -> int:
    """Mostly a small number; sometimes one around a threshold."""
    return around(rng, *thresholds) if rng.random() < share else rng.randint(1, most)


def flag(rng: random.Random, share: float = 0.5) -> bool:
    return rng.random() < share


def is_small(shape: Sequence[int], most: int = 1 << 18) -> bool:
    """Whether an array of `shape` is quick to compute with in NumPy."""
    return 0 < prod(shape) <= most
