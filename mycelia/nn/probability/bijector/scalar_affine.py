"""The affine bijector, y = x * scale + shift."""

from __future__ import annotations

from typing import Any

from mycelia.nn.probability.bijector.bijector import Bijector, described
from mycelia.ops.elementwise.arithmetic import abs as absolute
from mycelia.ops.elementwise.arithmetic import sign
from mycelia.ops.elementwise.exponential import log


class ScalarAffine(Bijector):
    """y = x * scale + shift."""

    def __init__(self, scale: Any = 1.0, shift: Any = 0.0, name: str = "ScalarAffine") -> None:
        super().__init__(True, True, name, None, described(name, scale=scale, shift=shift))
        self._scale = self._add_parameter(scale, "scale")
        self._shift = self._add_parameter(shift, "shift")

    @property
    def scale(self) -> Any:
        return self._scale

    @property
    def shift(self) -> Any:
        return self._shift

    def direction(self) -> Any:
        return sign(self._scale)

    def _forward(self, x: Any) -> Any:
        scale = self.cast_param_by_value(x, self._scale)
        return x * scale + self.cast_param_by_value(x, self._shift)

    def _inverse(self, y: Any) -> Any:
        shift = self.cast_param_by_value(y, self._shift)
        return (y - shift) / self.cast_param_by_value(y, self._scale)

    def _forward_log_jacobian(self, x: Any) -> Any:
        return log(absolute(self.cast_param_by_value(x, self._scale)))

    def _inverse_log_jacobian(self, y: Any) -> Any:
        return -self._forward_log_jacobian(y)
