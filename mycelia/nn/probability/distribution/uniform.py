"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import check_limit
from mycelia.ops.elementwise.arithmetic import maximum, minimum, square
from mycelia.ops.elementwise.comparison import logical_and
from mycelia.ops.elementwise.exponential import log
from mycelia.ops.elementwise.where import where
from mycelia.ops.shapes.creation import full_like, zeros_like


class Uniform(Family):
    """Uniform distribution from `low` to `high`."""

    arguments = ("low", "high")

    def __init__(
        self,
        low: Any = None,
        high: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        name: str = "Uniform",
    ) -> None:
        self._begin(seed, dtype, name, low=low, high=high)
        if low is not None and high is not None:
            check_limit(_wide, self._high_value - self._low_value, "the range")

    @property
    def low(self) -> Any:
        return self._low_value

    @property
    def high(self) -> Any:
        return self._high_value

    def _range(self, low: Any = None, high: Any = None) -> Any:
        low, high = self._check_param_type(low, high)
        return high - low

    def _mean(self, low: Any = None, high: Any = None) -> Any:
        low, high = self._check_param_type(low, high)
        return (low + high) / 2.0

    def _var(self, low: Any = None, high: Any = None) -> Any:
        return square(self._range(low, high)) / 12.0

    def _entropy(self, low: Any = None, high: Any = None) -> Any:
        return log(self._range(low, high))

    def _prob(self, value: Any, low: Any = None, high: Any = None) -> Any:
        value = self._value(value)
        low, high = self._check_param_type(low, high)
        found = 1.0 / (high - low) + zeros_like(value)
        return where(logical_and(value >= low, value <= high), found, zeros_like(found))

    def _cdf(self, value: Any, low: Any = None, high: Any = None) -> Any:
        low, high = self._check_param_type(low, high)
        return minimum(maximum((self._value(value) - low) / (high - low), 0.0), 1.0)

    def _kl_loss(
        self, dist: str, low_b: Any, high_b: Any, low: Any = None, high: Any = None
    ) -> Any:
        """KL divergence; infinite if this distribution extends beyond the other."""
        low_b, high_b = self._check_other(dist, low_b, high_b)
        low, high = self._check_param_type(low, high)
        found = log((high_b - low_b) / (high - low))
        return where(logical_and(low_b <= low, high_b >= high), found, full_like(found, math.inf))

    def _sample(self, shape: Any = (), low: Any = None, high: Any = None) -> Any:
        low, high = self._check_param_type(low, high)
        drawn = self._as_number(self._uniform(self._sample_shape(shape, low)))
        return self._as_sample(low + (high - low) * drawn)


def _wide(numbers: Any, title: str) -> None:
    if not (numbers > 0).all():
        raise problem(ValueError, "Uniform: low must be below high", got=f"high - low = {numbers}")
