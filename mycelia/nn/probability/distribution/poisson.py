"""The Poisson distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import positive
from mycelia.ops.elementwise.arithmetic import maximum
from mycelia.ops.elementwise.exponential import log
from mycelia.ops.elementwise.rounding import floor
from mycelia.ops.elementwise.special import igammac, lgamma
from mycelia.ops.elementwise.where import where
from mycelia.ops.random.distributions import Poisson as PoissonOp
from mycelia.ops.shapes.creation import full_like, zeros_like


class Poisson(Family):
    """Poisson distribution: event counts with the expected count `rate`."""

    whole = True
    arguments = ("rate",)
    limits = {"rate": (positive, "rate")}
    not_single = ("rate",)

    def __init__(
        self,
        rate: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        name: str = "Poisson",
    ) -> None:
        self._begin(seed, dtype, name, rate=rate)

    @property
    def rate(self) -> Any:
        return self._rate_value

    def _mean(self, rate: Any = None) -> Any:
        return self._check_param_type(rate)

    def _mode(self, rate: Any = None) -> Any:
        return floor(self._check_param_type(rate))

    def _var(self, rate: Any = None) -> Any:
        return self._check_param_type(rate)

    def _log_prob(self, value: Any, rate: Any = None) -> Any:
        value, rate = self._value(value), self._check_param_type(rate)
        count = maximum(value, 0.0)
        found = count * log(rate) - rate - lgamma(count + 1.0)
        return where(value >= 0.0, found, full_like(found, -math.inf))

    def _cdf(self, value: Any, rate: Any = None) -> Any:
        value, rate = self._value(value), self._check_param_type(rate)
        found = igammac(floor(maximum(value, 0.0)) + 1.0, rate + zeros_like(value))
        return where(value >= 0.0, found, zeros_like(found))

    def _kl_loss(self, dist: str, rate_b: Any, rate: Any = None) -> Any:
        (rate_b,) = self._check_other(dist, rate_b)
        rate = self._check_param_type(rate)
        return rate * log(rate / rate_b) - rate + rate_b

    def _sample(self, shape: Any = (), rate: Any = None) -> Any:
        rate = self._check_param_type(rate)
        return self._as_sample(PoissonOp.of(self.seed)(self._sample_shape(shape, rate), rate))
