"""The exponential distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import positive
from mycelia.ops.elementwise.arithmetic import maximum
from mycelia.ops.elementwise.exponential import expm1, log, log1p
from mycelia.ops.elementwise.where import where
from mycelia.ops.shapes.creation import full_like, zeros_like


class Exponential(Family):
    """Exponential distribution: waiting times of events with a constant rate."""

    arguments = ("rate",)
    limits = {"rate": (positive, "rate")}

    def __init__(
        self,
        rate: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        name: str = "Exponential",
    ) -> None:
        self._begin(seed, dtype, name, rate=rate)

    @property
    def rate(self) -> Any:
        return self._rate_value

    def _mean(self, rate: Any = None) -> Any:
        return 1.0 / self._check_param_type(rate)

    def _mode(self, rate: Any = None) -> Any:
        return zeros_like(self._check_param_type(rate))

    def _sd(self, rate: Any = None) -> Any:
        return 1.0 / self._check_param_type(rate)

    def _entropy(self, rate: Any = None) -> Any:
        return 1.0 - log(self._check_param_type(rate))

    def _log_prob(self, value: Any, rate: Any = None) -> Any:
        value, rate = self._value(value), self._check_param_type(rate)
        found = log(rate) - rate * value
        return where(value >= 0.0, found, full_like(found, -math.inf))

    def _cdf(self, value: Any, rate: Any = None) -> Any:
        return -expm1(self._log_survival(value, rate))

    def _log_survival(self, value: Any, rate: Any = None) -> Any:
        return -(self._check_param_type(rate) * maximum(self._value(value), 0.0))

    def _kl_loss(self, dist: str, rate_b: Any, rate: Any = None) -> Any:
        (rate_b,) = self._check_other(dist, rate_b)
        rate = self._check_param_type(rate)
        return log(rate / rate_b) + rate_b / rate - 1.0

    def _sample(self, shape: Any = (), rate: Any = None) -> Any:
        rate = self._check_param_type(rate)
        drawn = self._uniform(self._sample_shape(shape, rate))
        return self._as_sample(-self._as_number(log1p(-drawn)) / rate)
