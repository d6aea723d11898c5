"""The gamma distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import positive
from mycelia.ops.elementwise.arithmetic import maximum, square
from mycelia.ops.elementwise.exponential import log, sqrt
from mycelia.ops.elementwise.power import xlogy
from mycelia.ops.elementwise.special import digamma, igamma, lgamma
from mycelia.ops.elementwise.where import where
from mycelia.ops.random.gamma import StandardGamma
from mycelia.ops.shapes.creation import full_like, zeros_like


class Gamma(Family):
    """Gamma distribution with concentration (shape parameter) and rate."""

    arguments = ("concentration", "rate")
    limits = {"concentration": (positive, "concentration"), "rate": (positive, "rate")}
    not_single = ("concentration", "rate")

    def __init__(
        self,
        concentration: Any = None,
        rate: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        name: str = "Gamma",
    ) -> None:
        self._begin(seed, dtype, name, concentration=concentration, rate=rate)

    @property
    def concentration(self) -> Any:
        return self._concentration_value

    @property
    def rate(self) -> Any:
        return self._rate_value

    def _mean(self, concentration: Any = None, rate: Any = None) -> Any:
        concentration, rate = self._check_param_type(concentration, rate)
        return concentration / rate

    def _var(self, concentration: Any = None, rate: Any = None) -> Any:
        concentration, rate = self._check_param_type(concentration, rate)
        return concentration / square(rate)

    def _sd(self, concentration: Any = None, rate: Any = None) -> Any:
        concentration, rate = self._check_param_type(concentration, rate)
        return sqrt(concentration) / rate

    def _mode(self, concentration: Any = None, rate: Any = None) -> Any:
        """The mode; nan where the density has no maximum."""
        concentration, rate = self._check_param_type(concentration, rate)
        found = (concentration - 1.0) / rate
        return where(concentration > 1.0, found, full_like(found, math.nan))

    def _entropy(self, concentration: Any = None, rate: Any = None) -> Any:
        concentration, rate = self._check_param_type(concentration, rate)
        rest = lgamma(concentration) + (1.0 - concentration) * digamma(concentration)
        return concentration - log(rate) + rest

    def _log_prob(self, value: Any, concentration: Any = None, rate: Any = None) -> Any:
        value = self._value(value)
        concentration, rate = self._check_param_type(concentration, rate)
        density = xlogy(concentration - 1.0, value) - rate * value
        return density + concentration * log(rate) - lgamma(concentration)

    def _cdf(self, value: Any, concentration: Any = None, rate: Any = None) -> Any:
        scaled = maximum(self._value(value), 0.0)
        concentration, rate = self._check_param_type(concentration, rate)
        return igamma(concentration + zeros_like(scaled), rate * scaled)

    def _kl_loss(
        self,
        dist: str,
        concentration_b: Any,
        rate_b: Any,
        concentration_a: Any = None,
        rate_a: Any = None,
    ) -> Any:
        other, rate_b = self._check_other(dist, concentration_b, rate_b)
        own, rate = self._check_param_type(concentration_a, rate_a)
        forms = (own - other) * digamma(own) + lgamma(other) - lgamma(own)
        return forms + other * log(rate / rate_b) + own * (rate_b / rate - 1.0)

    def _sample(self, shape: Any = (), concentration: Any = None, rate: Any = None) -> Any:
        concentration, rate = self._check_param_type(concentration, rate)
        sizes = self._sample_shape(shape, concentration)
        return self._as_sample(StandardGamma.of(self.seed)(sizes, concentration) / rate)
