"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import positive
from mycelia.ops.elementwise.arithmetic import square
from mycelia.ops.elementwise.exponential import log, log1p, sqrt
from mycelia.ops.elementwise.special import digamma, lgamma
from mycelia.ops.elementwise.where import where
from mycelia.ops.random.gamma import StandardGamma
from mycelia.ops.shapes.creation import full_like


class StudentT(Family):
    """Student's t distribution with `df` degrees of freedom, shifted by `mean`, scaled by `sd`."""

    arguments = ("df", "mean", "sd")
    limits = {"sd": (positive, "Standard deviation"), "df": (positive, "Degrees of freedom")}

    def __init__(
        self,
        df: Any = None,
        mean: Any = None,
        sd: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        name: str = "StudentT",
    ) -> None:
        self._begin(seed, dtype, name, df=df, mean=mean, sd=sd)

    def _mean(self, df: Any = None, mean: Any = None, sd: Any = None) -> Any:
        """The mean; nan for at most one degree of freedom."""
        df, mean, sd = self._check_param_type(df, mean, sd)
        return where(df > 1.0, mean, full_like(mean, math.nan))

    def _mode(self, df: Any = None, mean: Any = None, sd: Any = None) -> Any:
        return self._check_param_type(df, mean, sd)[1]

    def _var(self, df: Any = None, mean: Any = None, sd: Any = None) -> Any:
        """The variance; infinite for at most two degrees of freedom, nan for at most one."""
        df, mean, sd = self._check_param_type(df, mean, sd)
        above = where(df > 2.0, df, full_like(df, 3.0))
        found = square(sd) * above / (above - 2.0)
        found = where(df > 2.0, found, full_like(found, math.inf))
        return where(df > 1.0, found, full_like(found, math.nan))

    def _entropy(self, df: Any = None, mean: Any = None, sd: Any = None) -> Any:
        df, mean, sd = self._check_param_type(df, mean, sd)
        half = 0.5 * (df + 1.0)
        return half * (digamma(half) - digamma(0.5 * df)) + _log_norm(df, sd)

    def _log_prob(self, value: Any, df: Any = None, mean: Any = None, sd: Any = None) -> Any:
        df, mean, sd = self._check_param_type(df, mean, sd)
        z = (self._value(value) - mean) / sd
        return -0.5 * (df + 1.0) * log1p(square(z) / df) - _log_norm(df, sd)

    def _sample(self, shape: Any = (), df: Any = None, mean: Any = None, sd: Any = None) -> Any:
        df, mean, sd = self._check_param_type(df, mean, sd)
        sizes = self._sample_shape(shape, df)
        half = 0.5 * df
        spread = StandardGamma.of(self.seed)(sizes, half) / half
        return self._as_sample(mean + sd * self._standard_normal(sizes) / sqrt(spread))


def _log_norm(df: Any, sd: Any) -> Any:
    """The logarithm of the normalizing constant."""
    forms = lgamma(0.5 * df) - lgamma(0.5 * (df + 1.0))
    return forms + 0.5 * log(df * math.pi) + log(sd)
