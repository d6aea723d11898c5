"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import positive
from mycelia.ops.elementwise.arithmetic import abs as absolute
from mycelia.ops.elementwise.exponential import exp, expm1, log
from mycelia.ops.elementwise.where import where
from mycelia.ops.random.distributions import StandardLaplace


class Laplace(Family):
    """The Laplace distribution of a mean and a scale, which is called `sd` here.

    The standard deviation is sqrt(2) times that scale.
    """

    arguments = ("mean", "sd")
    limits = {"sd": (positive, "Standard deviation")}

    def __init__(
        self,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        name: str = "Laplace",
    ) -> None:
        self._begin(seed, dtype, name, mean=mean, sd=sd)

    def _mean(self, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(mean, sd)[0]

    def _mode(self, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(mean, sd)[0]

    def _sd(self, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(mean, sd)[1] * math.sqrt(2)

    def _entropy(self, mean: Any = None, sd: Any = None) -> Any:
        return log(self._check_param_type(mean, sd)[1]) + (1 + math.log(2))

    def _log_prob(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        return -absolute(self._value(value) - mean) / sd - log(2.0 * sd)

    def _cdf(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        return _below((self._value(value) - mean) / sd)

    def _survival_function(self, value: Any, mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        return _below((mean - self._value(value)) / sd)

    def _kl_loss(self, dist: str, mean_b: Any, sd_b: Any, mean: Any = None, sd: Any = None) -> Any:
        mean_b, sd_b = self._check_other(dist, mean_b, sd_b)
        mean, sd = self._check_param_type(mean, sd)
        distance = absolute(mean - mean_b)
        return log(sd_b / sd) + (sd * exp(-distance / sd) + distance) / sd_b - 1.0

    def _sample(self, shape: Any = (), mean: Any = None, sd: Any = None) -> Any:
        mean, sd = self._check_param_type(mean, sd)
        drawn = StandardLaplace.of(self.seed)(self._sample_shape(shape, mean))
        return self._as_sample(mean + sd * self._as_number(drawn))


def _below(z: Any) -> Any:
    """The CDF at z for mean 0 and scale 1."""
    tail = 0.5 * exp(-absolute(z))
    return where(z < 0.0, tail, 0.5 - 0.5 * expm1(-absolute(z)))
