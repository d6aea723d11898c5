"""The power transform bijector, y = (1 + x * c) ** (1 / c)."""

from __future__ import annotations

from typing import Any

from mycelia.nn.probability.bijector.bijector import Bijector, described
from mycelia.nn.probability.parameters import check_limit, not_negative
from mycelia.ops.elementwise.exponential import exp, expm1, log, log1p
from mycelia.ops.elementwise.where import where
from mycelia.ops.shapes.creation import ones_like


class PowerTransform(Bijector):
    """y = (1 + x * power) ** (1 / power), and exp(x) for power 0."""

    def __init__(self, power: Any = 0.0, name: str = "PowerTransform") -> None:
        super().__init__(name=name, param=described(name, power=power))
        self._power = self._add_parameter(power, "power")
        check_limit(not_negative, self._power, "Power")

    @property
    def power(self) -> Any:
        return self._power

    def _forward(self, x: Any) -> Any:
        power, zero = self._power_of(x)
        return where(zero, exp(x), exp(log1p(x * power) / power))

    def _inverse(self, y: Any) -> Any:
        power, zero = self._power_of(y)
        return where(zero, log(y), expm1(log(y) * power) / power)

    def _forward_log_jacobian(self, x: Any) -> Any:
        power, zero = self._power_of(x)
        return where(zero, x, (1.0 / power - 1.0) * log1p(x * power))

    def _inverse_log_jacobian(self, y: Any) -> Any:
        return (self.cast_param_by_value(y, self._power) - 1.0) * log(y)

    def _power_of(self, value: Any) -> tuple[Any, Any]:
        """The power with zeros replaced by 1, and the mask of zeros."""
        power = self.cast_param_by_value(value, self._power)
        zero = power == 0.0
        return where(zero, ones_like(power), power), zero
