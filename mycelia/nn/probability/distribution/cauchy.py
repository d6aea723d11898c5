"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import positive
from mycelia.ops.elementwise.arithmetic import square
from mycelia.ops.elementwise.exponential import log, log1p
from mycelia.ops.elementwise.trigonometry import atan, tan


class Cauchy(Family):
    """Cauchy distribution with location and scale; it has no mean and no variance."""

    arguments = ("loc", "scale")
    labels = {"loc": "location"}
    limits = {"scale": (positive, "scale")}

    def __init__(
        self,
        loc: Any = None,
        scale: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        name: str = "Cauchy",
    ) -> None:
        self._begin(seed, dtype, name, loc=loc, scale=scale)

    @property
    def loc(self) -> Any:
        return self._loc_value

    @property
    def scale(self) -> Any:
        return self._scale_value

    def _mode(self, loc: Any = None, scale: Any = None) -> Any:
        return self._check_param_type(loc, scale)[0]

    def _mean(self, *args: Any, **kwargs: Any) -> Any:
        raise _undefined("mean")

    def _sd(self, *args: Any, **kwargs: Any) -> Any:
        raise _undefined("standard deviation")

    def _var(self, *args: Any, **kwargs: Any) -> Any:
        raise _undefined("variance")

    def _entropy(self, loc: Any = None, scale: Any = None) -> Any:
        return log(self._check_param_type(loc, scale)[1]) + math.log(4 * math.pi)

    def _log_prob(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        loc, scale = self._check_param_type(loc, scale)
        z = (self._value(value) - loc) / scale
        return -log1p(square(z)) - log(scale) - math.log(math.pi)

    def _cdf(self, value: Any, loc: Any = None, scale: Any = None) -> Any:
        loc, scale = self._check_param_type(loc, scale)
        return atan((self._value(value) - loc) / scale) / math.pi + 0.5

    def _kl_loss(
        self, dist: str, loc_b: Any, scale_b: Any, loc_a: Any = None, scale_a: Any = None
    ) -> Any:
        loc_b, scale_b = self._check_other(dist, loc_b, scale_b)
        loc, scale = self._check_param_type(loc_a, scale_a)
        distance = square(scale + scale_b) + square(loc - loc_b)
        return log(distance / (4.0 * scale * scale_b))

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Any:
        loc, scale = self._check_param_type(loc, scale)
        drawn = self._as_number(self._open_uniform(self._sample_shape(shape, loc)))
        return self._as_sample(loc + scale * tan(math.pi * (drawn - 0.5)))


def _undefined(what: str) -> ValueError:
    return problem(ValueError, f"Cauchy: has no {what}")
