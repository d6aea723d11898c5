"""The AdaMax optimizer."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia.nn.float_checks import open_unit_float, positive_float
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.ops.optimizer.fused_updates import AdaMaxUpdate
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class AdaMax(Optimizer):
    """AdaMax: Adam with the largest gradient so far instead of the second moment (Kingma, Ba)."""

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-08,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.update = AdaMaxUpdate(
            **self.update_fields(),
            beta1=open_unit_float("AdaMax", "beta1", beta1),
            beta2=open_unit_float("AdaMax", "beta2", beta2),
            epsilon=positive_float("AdaMax", "eps", eps),
        )
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.beta1_power = Parameter(Tensor([1.0], dtypes.float32), name="beta1_power")
        self.moment1 = self.parameters.clone("moment1", "zeros")
        self.moment2 = self.parameters.clone("moment2", "zeros")

    def construct(self, gradients: Any) -> Any:
        self.update(
            self.parameters,
            self.moment1,
            self.moment2,
            self.beta1_power,
            self.checked(gradients),
            self.get_lr(),
            self.decays_now(),
        )
        return self.finish_step()
