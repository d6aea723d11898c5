"""The exponential bijector, y = exp(x)."""

from __future__ import annotations

from mycelia.nn.probability.bijector.power_transform import PowerTransform


class Exp(PowerTransform):
    """y = exp(x): the power transform of power 0."""

    def __init__(self, name: str = "Exp") -> None:
        super().__init__(name=name)

    def extend_repr(self) -> str:
        return "exp"
