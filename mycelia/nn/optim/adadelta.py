"""The Adadelta optimizer."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_instance, check_range
from mycelia.nn.float_checks import non_negative_float
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.ops.optimizer.fused_updates import AdadeltaUpdate


class Adadelta(Optimizer):
    """The Adadelta optimizer (Zeiler, 2012): step sizes follow the running size of past updates."""

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_instance("Adadelta", "rho", rho, float)
        self.rho = check_range("Adadelta", "rho", rho, 0.0, 1.0)
        self.epsilon = non_negative_float("Adadelta", "epsilon", epsilon)
        self.accum = self.parameters.clone("accum", "zeros")
        self.accum_update = self.parameters.clone("accum_update", "zeros")
        self.update = AdadeltaUpdate(**self.update_fields(), rho=self.rho, epsilon=self.epsilon)

    def construct(self, gradients: Any) -> Any:
        self.update(
            self.parameters,
            self.accum,
            self.accum_update,
            self.checked(gradients),
            self.get_lr(),
            self.decays_now(),
        )
        return self.finish_step()
