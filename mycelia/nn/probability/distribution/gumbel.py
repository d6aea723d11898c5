"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType, as_dtype
from mycelia._engine.core.errors import wrong_type
from mycelia.nn.probability.bijector.gumbel_cdf import GumbelCDF
from mycelia.nn.probability.bijector.invert import Invert
from mycelia.nn.probability.distribution.distribution import TransformedDistribution
from mycelia.nn.probability.distribution.family import SMALLEST
from mycelia.nn.probability.distribution.uniform import Uniform
from mycelia.nn.probability.parameters import broadcast_all, check_other_type, parameter_tensor
from mycelia.ops.elementwise.arithmetic import maximum
from mycelia.ops.elementwise.exponential import exp, expm1, log
from mycelia.ops.elementwise.special import lgamma


class Gumbel(TransformedDistribution):
    """Gumbel distribution with location and scale: maxima of many values."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        seed: int | None = 0,
        dtype: DType = dtypes.float32,
        name: str = "Gumbel",
    ) -> None:
        kind = as_dtype(dtype)
        if not kind.is_float:
            raise wrong_type("Gumbel", "dtype", dtype, "a float type")
        bijector = GumbelCDF(parameter_tensor(loc, kind), parameter_tensor(scale, kind))
        uniform = Uniform(0.0, 1.0, seed, kind, name + "_uniform")
        super().__init__(Invert(bijector), uniform, seed, name)
        self.default_parameters = bijector.default_parameters
        self.parameter_names = ["loc", "scale"]

    @property
    def loc(self) -> Any:
        return self.default_parameters[0]

    @property
    def scale(self) -> Any:
        return self.default_parameters[1]

    def _get_dist_type(self) -> str:
        return "Gumbel"

    def _get_dist_args(self, loc: Any = None, scale: Any = None) -> Any:
        return tuple(self._chosen((loc, scale)))

    def _mean(self) -> Any:
        loc, scale = self._check_param_type(None, None)
        return loc + scale * np.euler_gamma

    def _mode(self) -> Any:
        return self._check_param_type(None, None)[0]

    def _sd(self) -> Any:
        return self._check_param_type(None, None)[1] * (math.pi / math.sqrt(6))

    def _entropy(self) -> Any:
        return log(self._check_param_type(None, None)[1]) + (1 + np.euler_gamma)

    def _log_prob(self, value: Any) -> Any:
        z, scale = self._standard(value)
        return -(z + exp(-z)) - log(scale)

    def _cdf(self, value: Any) -> Any:
        return exp(self._log_cdf(value))

    def _log_cdf(self, value: Any) -> Any:
        return -exp(-self._standard(value)[0])

    def _survival_function(self, value: Any) -> Any:
        return -expm1(self._log_cdf(value))

    def _log_survival(self, value: Any) -> Any:
        return log(self._survival_function(value))

    def _kl_loss(self, dist: str, loc_b: Any, scale_b: Any) -> Any:
        check_other_type(dist, "Gumbel")
        loc_b, scale_b = self._value(loc_b, "loc_b"), self._value(scale_b, "scale_b")
        loc, scale = self._check_param_type(None, None)
        loc, scale, loc_b, scale_b = broadcast_all([loc, scale, loc_b, scale_b], self.name)
        ratio = scale / scale_b
        moved = (loc - loc_b) / scale_b
        return (
            -log(ratio)
            + np.euler_gamma * (ratio - 1.0)
            + moved
            + expm1(lgamma(ratio + 1.0) - moved)
        )

    def _sample(self, shape: Any = ()) -> Any:
        loc, scale = self._check_param_type(None, None)
        zero, one = parameter_tensor(0.0, loc.dtype), scale / scale
        drawn = self.distribution.sample(shape, zero, one)
        return loc - scale * log(-log(maximum(drawn, SMALLEST)))

    def _standard(self, value: Any) -> tuple[Any, Any]:
        loc, scale = self._check_param_type(None, None)
        return (self._value(value) - loc) / scale, scale
