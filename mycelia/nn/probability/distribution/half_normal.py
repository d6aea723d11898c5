"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import positive
from mycelia.ops.elementwise.arithmetic import abs as absolute
from mycelia.ops.elementwise.arithmetic import maximum, square
from mycelia.ops.elementwise.exponential import log
from mycelia.ops.elementwise.special import erf, erfc
from mycelia.ops.elementwise.where import where
from mycelia.ops.shapes.creation import full_like


class HalfNormal(Family):
    """Half-normal distribution: `mean` plus the absolute value of a normal variable of `sd`."""

    arguments = ("mean", "sd")
    limits = {"sd": (positive, "Standard deviation")}

    def __init__(
        self,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        name: str = "HalfNormal",
    ) -> None:
        self._begin(seed, dtype, name, mean=mean, sd=sd)

    def _mean(self, mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        return mean + sd * math.sqrt(2 / math.pi)

    def _mode(self, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(mean, sd)[0]

    def _sd(self, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(mean, sd)[1] * math.sqrt(1 - 2 / math.pi)

    def _entropy(self, mean: Any = None, sd: Any = None) -> Any:
        return log(self._check_param_type(mean, sd)[1]) + 0.5 * (1 + math.log(math.pi / 2))

    def _log_prob(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        z = (self._value(value) - mean) / sd
        found = -0.5 * square(z) - log(sd) + 0.5 * math.log(2 / math.pi)
        return where(z >= 0.0, found, full_like(found, -math.inf))

    def _cdf(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        return erf(self._above(value, mean, sd))

    def _survival_function(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        return erfc(self._above(value, mean, sd))

    def _kl_loss(self, dist: str, mean_b: Any, sd_b: Any, mean: Any = None, sd: Any = None) -> Any:
        """KL divergence; infinite if this distribution extends below the other's mean."""
        mean_b, sd_b = self._check_other(dist, mean_b, sd_b)
        mean, sd = self._check_param_type(mean, sd)
        shift = mean - mean_b
        second = square(shift) + square(sd) + 2 * math.sqrt(2 / math.pi) * shift * sd
        found = log(sd_b / sd) + 0.5 * (second / square(sd_b) - 1.0)
        return where(shift >= 0.0, found, full_like(found, math.inf))

    def _sample(self, shape: Any = (), mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        drawn = self._standard_normal(self._sample_shape(shape, mean))
        return self._as_sample(mean + sd * absolute(drawn))

    def _above(self, value: Any, mean: Any, sd: Any) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        return maximum((self._value(value) - mean) / (sd * math.sqrt(2)), 0.0)
