"""The softplus bijector, y = log(1 + exp(k * x)) / k."""

from __future__ import annotations

from typing import Any

from mycelia.nn.probability.bijector.bijector import Bijector, described
from mycelia.ops.activation.smooth import logsigmoid
from mycelia.ops.elementwise.exponential import expm1, log


class Softplus(Bijector):
    """y = log(1 + exp(sharpness * x)) / sharpness."""

    def __init__(self, sharpness: Any = 1.0, name: str = "Softplus") -> None:
        super().__init__(name=name, param=described(name, sharpness=sharpness))
        self._sharpness = self._add_parameter(sharpness, "sharpness")

    @property
    def sharpness(self) -> Any:
        return self._sharpness

    def _forward(self, x: Any) -> Any:
        sharpness = self.cast_param_by_value(x, self._sharpness)
        return -logsigmoid(-(sharpness * x)) / sharpness

    def _inverse(self, y: Any) -> Any:
        sharpness = self.cast_param_by_value(y, self._sharpness)
        scaled = sharpness * y
        return (scaled + log(-expm1(-scaled))) / sharpness

    def _forward_log_jacobian(self, x: Any) -> Any:
        return logsigmoid(self.cast_param_by_value(x, self._sharpness) * x)

    def _inverse_log_jacobian(self, y: Any) -> Any:
        return -log(-expm1(-(self.cast_param_by_value(y, self._sharpness) * y)))
