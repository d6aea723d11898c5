"""The Gumbel CDF bijector, y = exp(-exp(-(x - loc) / scale))."""

from __future__ import annotations

from typing import Any

from mycelia.nn.probability.bijector.bijector import Bijector, described
from mycelia.nn.probability.parameters import check_limit, positive
from mycelia.ops.elementwise.exponential import exp, log


class GumbelCDF(Bijector):
    """y = exp(-exp(-(x - loc) / scale)): maps Gumbel to uniform variables."""

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0, name: str = "GumbelCDF") -> None:
        super().__init__(name=name, param=described(name, loc=loc, scale=scale))
        self._loc = self._add_parameter(loc, "loc")
        self._scale = self._add_parameter(scale, "scale")
        check_limit(positive, self._scale, "scale")

    @property
    def loc(self) -> Any:
        return self._loc

    @property
    def scale(self) -> Any:
        return self._scale

    def _forward(self, x: Any) -> Any:
        return exp(-exp(-self._standard(x)[0]))

    def _inverse(self, y: Any) -> Any:
        scale = self.cast_param_by_value(y, self._scale)
        return self.cast_param_by_value(y, self._loc) - scale * log(-log(y))

    def _forward_log_jacobian(self, x: Any) -> Any:
        z, scale = self._standard(x)
        return -z - exp(-z) - log(scale)

    def _inverse_log_jacobian(self, y: Any) -> Any:
        return log(self.cast_param_by_value(y, self._scale) / (-log(y) * y))

    def _standard(self, x: Any) -> tuple[Any, Any]:
        scale = self.cast_param_by_value(x, self._scale)
        return (x - self.cast_param_by_value(x, self._loc)) / scale, scale
