"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.shape import broadcast
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import broadcast_all, shares
from mycelia.ops.elementwise.arithmetic import square
from mycelia.ops.elementwise.comparison import logical_or
from mycelia.ops.elementwise.exponential import log
from mycelia.ops.elementwise.power import xlogy
from mycelia.ops.elementwise.where import where
from mycelia.ops.indexing.gather import gather_elements
from mycelia.ops.reduction.argmax import argmax
from mycelia.ops.reduction.cumulative import cumsum
from mycelia.ops.reduction.reduction import sum as total
from mycelia.ops.shapes.creation import full_like, ones_like, zeros_like
from mycelia.ops.shapes.ranges import arange
from mycelia.ops.shapes.reshape import broadcast_to, cast, expand_dims, squeeze


class Categorical(Family):
    """Categorical distribution over 0 to k - 1; `probs` has probabilities on its last axis."""

    whole = True
    arguments = ("probs",)
    limits = {"probs": (shares, "Categorical probs")}

    def __init__(
        self,
        probs: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.int32,
        name: str = "Categorical",
    ) -> None:
        self._begin(seed, dtype, name, probs=probs)

    @property
    def probs(self) -> Any:
        return self._probs_value

    def _mean(self, probs: Any = None) -> Any:
        """The mean, with an axis of size 1 instead of the classes."""
        probs = self._check_param_type(probs)
        return total(probs * _classes(probs), -1, True)

    def _mode(self, probs: Any = None) -> Any:
        return cast(argmax(self._check_param_type(probs), -1), self.dtype)

    def _var(self, probs: Any = None) -> Any:
        """The variance, with an axis of size 1 instead of the classes."""
        probs = self._check_param_type(probs)
        distance = _classes(probs) - self._mean(probs)
        return total(probs * square(distance), -1, True)

    def _entropy(self, probs: Any = None) -> Any:
        probs = self._check_param_type(probs)
        return -total(xlogy(probs, probs), -1)

    def _kl_loss(self, dist: str, probs_b: Any, probs: Any = None) -> Any:
        (probs_b,) = self._check_other(dist, probs_b)
        probs, probs_b = broadcast_all([self._check_param_type(probs), probs_b], self.name)
        return total(xlogy(probs, probs) - xlogy(probs, probs_b), -1)

    def _log_prob(self, value: Any, probs: Any = None) -> Any:
        """The log-probability; nan for values that are not classes."""
        found, outside = self._at(value, log(self._check_param_type(probs)))
        return where(outside, full_like(found, math.nan), found)

    def _cdf(self, value: Any, probs: Any = None) -> Any:
        found, _ = self._at(value, cumsum(self._check_param_type(probs), -1))
        value = broadcast_to(self._value(value), found.shape)
        found = where(value < 0.0, zeros_like(found), found)
        return where(
            value >= self._check_param_type(probs).shape[-1] - 1.0, ones_like(found), found
        )

    def _sample(self, shape: Any = (), probs: Any = None) -> Any:
        probs = self._check_param_type(probs)
        bounds = cumsum(probs, -1)[..., :-1]
        drawn = self._uniform(self._sample_shape(shape, probs[..., 0]))
        return total(cast(expand_dims(drawn, -1) >= bounds, self.dtype), -1).astype(self.dtype)

    def _at(self, value: Any, table: Any) -> tuple[Any, Any]:
        """The table entries for the classes in `value`, and a mask of invalid classes."""
        value = self._value(value)
        count = table.shape[-1]
        batch = broadcast(value.shape, table.shape[:-1], op=self.name)
        places = cast(broadcast_to(value, batch), dtypes.int32)
        outside = logical_or(places < 0, places >= count)
        places = where(outside, zeros_like(places), places)
        table = broadcast_to(table, (*batch, count))
        return squeeze(gather_elements(table, -1, expand_dims(places, -1)), -1), outside

    def extend_repr(self) -> str:
        if self.batch_shape is not None and len(self.batch_shape) > 1:
            return super().extend_repr()
        return f"probs = {self._probs_value}"


def _classes(probs: Any) -> Any:
    return cast(arange(probs.shape[-1]), probs.dtype)
