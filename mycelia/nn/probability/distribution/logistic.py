"""The logistic distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import positive
from mycelia.ops.activation.smooth import logsigmoid, sigmoid
from mycelia.ops.elementwise.exponential import log, log1p


class Logistic(Family):
    """Logistic distribution with location and scale."""

    arguments = ("loc", "scale")
    labels = {"loc": "location"}
    limits = {"scale": (positive, "scale")}

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        name: str = "Logistic",
    ) -> None:
        self._begin(seed, dtype, name, loc=loc, scale=scale)

    @property
    def loc(self) -> Any:
        return self._loc_value

    @property
    def scale(self) -> Any:
        return self._scale_value

    def _mean(self, loc: Any = None, scale: Any = None) -> Any:
        return self._check_param_type(loc, scale)[0]

    def _mode(self, loc: Any = None, scale: Any = None) -> Any:
        return self._check_param_type(loc, scale)[0]

    def _sd(self, loc: Any = None, scale: Any = None) -> Any:
        return self._check_param_type(loc, scale)[1] * (math.pi / math.sqrt(3))

    def _entropy(self, loc: Any = None, scale: Any = None) -> Any:
        return log(self._check_param_type(loc, scale)[1]) + 2.0

    def _log_prob(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        z = self._standard(value, loc, scale)
        return logsigmoid(z) + logsigmoid(-z) - log(self._check_param_type(loc, scale)[1])

    def _cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return sigmoid(self._standard(value, loc, scale))

    def _log_cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return logsigmoid(self._standard(value, loc, scale))

    def _survival_function(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return sigmoid(-self._standard(value, loc, scale))

    def _log_survival(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        return logsigmoid(-self._standard(value, loc, scale))

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Any:
        loc, scale = self._check_param_type(loc, scale)
        drawn = self._open_uniform(self._sample_shape(shape, loc))
        return self._as_sample(loc + scale * self._as_number(log(drawn) - log1p(-drawn)))

    def _standard(self, value: Any, loc: Any, scale: Any) -> Any:
        loc, scale = self._check_param_type(loc, scale)
        return (self._value(value) - loc) / scale
