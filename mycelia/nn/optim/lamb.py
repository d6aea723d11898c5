"""The LAMB optimizer: Adam for large batches."""

from __future__ import annotations

from typing import Any

from mycelia.nn.float_checks import open_unit_float, positive_float
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.ops.elementwise.arithmetic import add
from mycelia.ops.optimizer.fused_updates import LambUpdate


class Lamb(Optimizer):
    """The LAMB optimizer (You et al., 2020): Adam updates scaled to the norm of each parameter."""

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self.update = LambUpdate(
            **self.update_fields(),
            beta1=open_unit_float("Lamb", "beta1", beta1),
            beta2=open_unit_float("Lamb", "beta2", beta2),
            epsilon=positive_float("Lamb", "eps", eps),
        )
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.params = self.parameters
        self.moments1 = self.parameters.clone("lamb_m", "zeros")
        self.moments2 = self.parameters.clone("lamb_v", "zeros")

    def construct(self, gradients: Any) -> Any:
        self.update(
            self.parameters,
            self.moments1,
            self.moments2,
            self.checked(gradients),
            self.get_lr(),
            add(self.global_step, 1),
            self.decays_now(),
        )
        return self.finish_step()
