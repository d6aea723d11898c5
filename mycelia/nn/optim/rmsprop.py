"""The RMSProp optimizer."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia.nn.float_checks import non_negative_float, positive_float
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.ops.optimizer.fused_updates import RmsPropUpdate


class RMSProp(Optimizer):
    """The RMSProp optimizer: gradients over their running root mean square.

    `centered` divides by the running standard deviation instead.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.use_locking = check_bool("RMSProp", "use_locking", use_locking)
        self.centered = check_bool("RMSProp", "centered", centered)
        self.decay, self.momentum, self.epsilon = decay, momentum, epsilon
        self.update = RmsPropUpdate(
            **self.update_fields(),
            decay=non_negative_float("RMSProp", "decay", decay),
            momentum=non_negative_float("RMSProp", "momentum", momentum),
            epsilon=positive_float("RMSProp", "epsilon", epsilon),
        )
        self.mg = self.parameters.clone("mean_grad", "zeros") if centered else ()
        self.ms = self.parameters.clone("mean_square", "ones")
        self.moment = self.parameters.clone("moment", "zeros")

    def construct(self, gradients: Any) -> Any:
        self.update(
            self.parameters,
            self.mg,
            self.ms,
            self.moment,
            self.checked(gradients),
            self.get_lr(),
            self.decays_now(),
        )
        return self.finish_step()
