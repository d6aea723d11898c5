"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import probability
from mycelia.ops.elementwise.exponential import log, log1p
from mycelia.ops.elementwise.where import where
from mycelia.ops.shapes.creation import ones_like, zeros_like
from mycelia.ops.shapes.reshape import cast


class Bernoulli(Family):
    """Bernoulli distribution: 1 with probability `probs`, else 0."""

    whole = True
    arguments = ("probs1",)
    limits = {"probs": (probability, "probs")}

    def __init__(
        self,
        probs: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.int32,
        name: str = "Bernoulli",
    ) -> None:
        self._begin(seed, dtype, name, probs=probs)

    @property
    def probs(self) -> Any:
        return self._probs_value

    def _mean(self, probs1: Any = None) -> Any:
        return self._check_param_type(probs1)

    def _mode(self, probs1: Any = None) -> Any:
        """1 if it is more likely, else 0."""
        return cast(self._check_param_type(probs1) > 0.5, self.dtype)

    def _var(self, probs1: Any = None) -> Any:
        probs = self._check_param_type(probs1)
        return probs * (1.0 - probs)

    def _entropy(self, probs1: Any = None) -> Any:
        probs = self._check_param_type(probs1)
        return -(probs * log(probs)) - (1.0 - probs) * log1p(-probs)

    def _log_prob(self, value: Any, probs1: Any = None) -> Any:
        value, probs = self._value(value), self._check_param_type(probs1)
        return value * log(probs) + (1.0 - value) * log1p(-probs)

    def _cdf(self, value: Any, probs1: Any = None) -> Any:
        value, probs = self._value(value), self._check_param_type(probs1)
        below = 1.0 - probs + zeros_like(value)
        below = where(value < 0.0, zeros_like(below), below)
        return where(value >= 1.0, ones_like(below), below)

    def _kl_loss(self, dist: str, probs1_b: Any, probs1: Any = None) -> Any:
        (probs_b,) = self._check_other(dist, probs1_b)
        probs = self._check_param_type(probs1)
        rest = (1.0 - probs) * (log1p(-probs) - log1p(-probs_b))
        return probs * log(probs / probs_b) + rest

    def _sample(self, shape: Any = (), probs1: Any = None) -> Any:
        probs = self._check_param_type(probs1)
        drawn = self._uniform(self._sample_shape(shape, probs))
        return cast(drawn < probs, self.dtype)
