"""The geometric distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import probability
from mycelia.ops.elementwise.arithmetic import maximum, square
from mycelia.ops.elementwise.exponential import expm1, log, log1p
from mycelia.ops.elementwise.rounding import floor
from mycelia.ops.elementwise.where import where
from mycelia.ops.shapes.creation import full_like, zeros_like
from mycelia.ops.shapes.reshape import cast


class Geometric(Family):
    """Geometric distribution: failures before the first success with probability `probs`."""

    whole = True
    arguments = ("probs1",)
    limits = {"probs": (probability, "probs")}

    def __init__(
        self,
        probs: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.int32,
        name: str = "Geometric",
    ) -> None:
        self._begin(seed, dtype, name, probs=probs)

    @property
    def probs(self) -> Any:
        return self._probs_value

    def _mean(self, probs1: Any = None) -> Any:
        return 1.0 / self._check_param_type(probs1) - 1.0

    def _mode(self, probs1: Any = None) -> Any:
        return zeros_like(self._check_param_type(probs1), dtype=self.dtype)

    def _var(self, probs1: Any = None) -> Any:
        probs = self._check_param_type(probs1)
        return (1.0 - probs) / square(probs)

    def _entropy(self, probs1: Any = None) -> Any:
        probs = self._check_param_type(probs1)
        return -((1.0 - probs) * log1p(-probs) + probs * log(probs)) / probs

    def _log_prob(self, value: Any, probs1: Any = None) -> Any:
        value, probs = floor(self._value(value)), self._check_param_type(probs1)
        found = value * log1p(-probs) + log(probs)
        return where(value >= 0.0, found, full_like(found, -math.inf))

    def _cdf(self, value: Any, probs1: Any = None) -> Any:
        return -expm1(self._log_survival(value, probs1))

    def _log_survival(self, value: Any, probs1: Any = None) -> Any:
        value, probs = floor(self._value(value)), self._check_param_type(probs1)
        return maximum(value + 1.0, 0.0) * log1p(-probs)

    def _kl_loss(self, dist: str, probs1_b: Any, probs1: Any = None) -> Any:
        (probs_b,) = self._check_other(dist, probs1_b)
        probs = self._check_param_type(probs1)
        rest = (1.0 / probs - 1.0) * (log1p(-probs) - log1p(-probs_b))
        return log(probs / probs_b) + rest

    def _sample(self, shape: Any = (), probs1: Any = None) -> Any:
        probs = self._check_param_type(probs1)
        drawn = self._uniform(self._sample_shape(shape, probs))
        return cast(floor(log1p(-drawn) / log1p(-probs)), self.dtype)
