"""The beta distribution."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.probability.distribution.family import Family
from mycelia.nn.probability.parameters import positive
from mycelia.ops.elementwise.arithmetic import square
from mycelia.ops.elementwise.comparison import logical_and
from mycelia.ops.elementwise.power import xlogy
from mycelia.ops.elementwise.special import digamma, lgamma
from mycelia.ops.elementwise.where import where
from mycelia.ops.random.gamma import StandardGamma
from mycelia.ops.shapes.concat import stack
from mycelia.ops.shapes.creation import full_like
from mycelia.ops.shapes.reshape import reshape


class Beta(Family):
    """Beta distribution with shape parameters `concentration1` and `concentration0`."""

    arguments = ("concentration1", "concentration0")
    limits = {
        "concentration1": (positive, "concentration1"),
        "concentration0": (positive, "concentration0"),
    }
    not_single = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        seed: int | None = None,
        dtype: DType = dtypes.float32,
        name: str = "Beta",
    ) -> None:
        values = {"concentration1": concentration1, "concentration0": concentration0}
        self._begin(seed, dtype, name, **values)

    @property
    def concentration1(self) -> Any:
        return self._concentration1_value

    @property
    def concentration0(self) -> Any:
        return self._concentration0_value

    def _mean(self, concentration1: Any = None, concentration0: Any = None) -> Any:
        one, zero = self._check_param_type(concentration1, concentration0)
        return one / (one + zero)

    def _var(self, concentration1: Any = None, concentration0: Any = None) -> Any:
        one, zero = self._check_param_type(concentration1, concentration0)
        total = one + zero
        return one * zero / (square(total) * (total + 1.0))

    def _mode(self, concentration1: Any = None, concentration0: Any = None) -> Any:
        """The mode; nan where the density has no maximum."""
        one, zero = self._check_param_type(concentration1, concentration0)
        found = (one - 1.0) / (one + zero - 2.0)
        return where(logical_and(one > 1.0, zero > 1.0), found, full_like(found, math.nan))

    def _entropy(self, concentration1: Any = None, concentration0: Any = None) -> Any:
        one, zero = self._check_param_type(concentration1, concentration0)
        total = one + zero
        drawn = (one - 1.0) * digamma(one) + (zero - 1.0) * digamma(zero)
        return _log_beta(one, zero) - drawn + (total - 2.0) * digamma(total)

    def _log_prob(self, value: Any, concentration1: Any = None, concentration0: Any = None) -> Any:
        value = self._value(value)
        one, zero = self._check_param_type(concentration1, concentration0)
        return xlogy(one - 1.0, value) + xlogy(zero - 1.0, 1.0 - value) - _log_beta(one, zero)

    def _kl_loss(
        self,
        dist: str,
        concentration1_b: Any,
        concentration0_b: Any,
        concentration1_a: Any = None,
        concentration0_a: Any = None,
    ) -> Any:
        one_b, zero_b = self._check_other(dist, concentration1_b, concentration0_b)
        one, zero = self._check_param_type(concentration1_a, concentration0_a)
        total = one + zero
        drawn = (one - one_b) * digamma(one) + (zero - zero_b) * digamma(zero)
        return (
            _log_beta(one_b, zero_b)
            - _log_beta(one, zero)
            + drawn
            + (one_b + zero_b - total) * digamma(total)
        )

    def _sample(
        self, shape: Any = (), concentration1: Any = None, concentration0: Any = None
    ) -> Any:
        one, zero = self._check_param_type(concentration1, concentration0)
        sizes = self._sample_shape(shape, one)
        forms = reshape(stack((one, zero), 0), (2, *(1,) * len(shape), *one.shape))
        drawn = StandardGamma.of(self.seed)((2, *sizes), forms)
        return self._as_sample(drawn[0] / (drawn[0] + drawn[1]))


def _log_beta(a: Any, b: Any) -> Any:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
