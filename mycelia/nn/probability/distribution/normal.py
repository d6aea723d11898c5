"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import positive
from mycelia.ops.elementwise.arithmetic import square
from mycelia.ops.elementwise.exponential import log
from mycelia.ops.elementwise.special import erfc

HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


class Normal(Family):
    """Normal distribution with mean and standard deviation."""

    arguments = ("mean", "sd")
    labels = {"sd": "standard deviation"}
    limits = {"sd": (positive, "Standard deviation")}

    def __init__(
        self,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        name: str = "Normal",
    ) -> None:
        self._begin(seed, dtype, name, mean=mean, sd=sd)

    def _mean(self, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(mean, sd)[0]

    def _mode(self, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(mean, sd)[0]

    def _sd(self, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(mean, sd)[1]

    def _entropy(self, mean: Any = None, sd: Any = None) -> Any:
        return log(self._sd(mean, sd)) + (0.5 + HALF_LOG_TAU)

    def _log_prob(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        z = (self._value(value) - mean) / sd
        return -0.5 * square(z) - log(sd) - HALF_LOG_TAU

    def _cdf(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        return 0.5 * erfc((mean - self._value(value)) / (sd * math.sqrt(2)))

    def _survival_function(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        return 0.5 * erfc((self._value(value) - mean) / (sd * math.sqrt(2)))

    def _kl_loss(self, dist: str, mean_b: Any, sd_b: Any, mean: Any = None, sd: Any = None) -> Any:
        mean_b, sd_b = self._check_other(dist, mean_b, sd_b)
        mean, sd = self._check_param_type(mean, sd)
        return normal_divergence(mean, sd, mean_b, sd_b)

    def _sample(self, shape: Any = (), mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        drawn = self._standard_normal(self._sample_shape(shape, mean))
        return self._as_sample(mean + sd * drawn)


def normal_divergence(mean_a: Any, sd_a: Any, mean_b: Any, sd_b: Any) -> Any:
    """KL(a || b) of two normal distributions."""
    ratio = square(sd_a / sd_b)
    return 0.5 * (ratio + square((mean_a - mean_b) / sd_b) - 1.0 - log(ratio))
