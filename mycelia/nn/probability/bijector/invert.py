"""The Invert bijector: swaps the forward and inverse transforms."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_instance
from mycelia.nn.probability.bijector.bijector import Bijector


class Invert(Bijector):
    """Inverts a bijector: forward is its inverse, and inverse is its forward."""

    def __init__(self, bijector: Bijector, name: str = "") -> None:
        check_instance("Invert", "bijector", bijector, Bijector)
        name = name or "Invert" + bijector.name
        super().__init__(
            bijector.is_constant_jacobian,
            bijector.is_injective,
            name,
            bijector.dtype,
            {"bijector": bijector, "name": name},
        )
        self._bijector = bijector
        self._batch_shape = bijector.batch_shape
        self.common_dtype = bijector.common_dtype
        self.default_parameters = bijector.default_parameters
        self.parameter_names = bijector.parameter_names

    @property
    def bijector(self) -> Bijector:
        return self._bijector

    def direction(self) -> Any:
        return self._bijector.direction()

    def inverse(self, y: Any, *args: Any, **kwargs: Any) -> Any:
        return self._bijector.forward(y, *args, **kwargs)

    def forward(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self._bijector.inverse(x, *args, **kwargs)

    def inverse_log_jacobian(self, y: Any, *args: Any, **kwargs: Any) -> Any:
        return self._bijector.forward_log_jacobian(y, *args, **kwargs)

    def forward_log_jacobian(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self._bijector.inverse_log_jacobian(x, *args, **kwargs)

    def extend_repr(self) -> str:
        return ""
