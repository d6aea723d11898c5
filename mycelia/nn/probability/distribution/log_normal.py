"""The log-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.bijector.exp import Exp
from mycelia.nn.probability.distribution.distribution import TransformedDistribution
from mycelia.nn.probability.distribution.normal import Normal, normal_divergence
from mycelia.nn.probability.parameters import check_other_type
from mycelia.ops.elementwise.arithmetic import square
from mycelia.ops.elementwise.exponential import exp, expm1
from mycelia.ops.elementwise.where import where
from mycelia.ops.shapes.creation import full_like, ones_like


class LogNormal(TransformedDistribution):
    """Log-normal distribution: the logarithm is normal with mean `loc` and deviation `scale`."""

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        seed: int | None = 0,
        dtype: DType = dtypes.float32,
        name: str = "LogNormal",
    ) -> None:
        normal = Normal(loc, scale, seed, dtype, name + "_normal")
        super().__init__(Exp(), normal, seed, name)
        self.parameter_names = ["loc", "scale"]

    @property
    def loc(self) -> Any:
        return self.default_parameters[0]

    @property
    def scale(self) -> Any:
        return self.default_parameters[1]

    def _get_dist_type(self) -> str:
        return "LogNormal"

    def _get_dist_args(self, loc: Any = None, scale: Any = None) -> Any:
        return self.distribution.get_dist_args(loc, scale)

    def _mean(self, loc: Any = None, scale: Any = None) -> Any:
        loc, scale = self._check_param_type(loc, scale)
        return exp(loc + 0.5 * square(scale))

    def _mode(self, loc: Any = None, scale: Any = None) -> Any:
        loc, scale = self._check_param_type(loc, scale)
        return exp(loc - square(scale))

    def _var(self, loc: Any = None, scale: Any = None) -> Any:
        loc, scale = self._check_param_type(loc, scale)
        return expm1(square(scale)) * exp(2.0 * loc + square(scale))

    def _entropy(self, loc: Any = None, scale: Any = None) -> Any:
        loc, scale = self._check_param_type(loc, scale)
        return loc + self.distribution.entropy(loc, scale)

    def _log_prob(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return self._inside("_log_prob", -math.inf, value, loc, scale)

    def _cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return self._inside("_cdf", 0.0, value, loc, scale)

    def _log_cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return self._inside("_log_cdf", -math.inf, value, loc, scale)

    def _survival_function(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return self._inside("_survival_function", 1.0, value, loc, scale)

    def _log_survival(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return self._inside("_log_survival", 0.0, value, loc, scale)

    def _kl_loss(
        self, dist: str, loc_b: Any, scale_b: Any, loc_a: Any = None, scale_a: Any = None
    ) -> Any:
        check_other_type(dist, "LogNormal")
        loc, scale = self._check_param_type(loc_a, scale_a)
        other = self._value(loc_b, "loc_b"), self._value(scale_b, "scale_b")
        return normal_divergence(loc, scale, *other)

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Any:
        parameters = self._check_param_type(loc, scale)
        return exp(self.distribution.sample(shape, *parameters))

    def _inside(self, hook: str, outside: float, value: Any, loc: Any, scale: Any) -> Any:
        """The transformed distribution's hook for positive values."""
        value = self._value(value)
        parameters = self._check_param_type(loc, scale)
        real = value > 0.0
        safe = where(real, value, ones_like(value))
        found = getattr(super(), hook)(safe, *parameters)
        return where(real, found, full_like(found, outside))
