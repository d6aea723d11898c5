"""The proximal Adagrad optimizer."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia.nn.float_checks import non_negative_float
from mycelia.nn.optim.optimizer import Optimizer, checked_target
from mycelia.ops.optimizer.fused_updates import ProximalAdagradUpdate


class ProximalAdagrad(Optimizer):
    """Adagrad with a proximal step that shrinks parameters towards zero (Duchi and Singer)."""

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 0.001,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        owner = "ProximalAdagrad"
        start = non_negative_float(owner, "accum", accum)
        self.use_locking = check_bool(owner, "use_locking", use_locking)
        self.l1, self.l2 = l1, l2
        self.accum = self.parameters.clone("accum", start)
        self.update = ProximalAdagradUpdate(
            **self.update_fields(),
            l1=non_negative_float(owner, "l1", l1),
            l2=non_negative_float(owner, "l2", l2),
        )

    def construct(self, gradients: Any) -> Any:
        self.update(
            self.parameters,
            self.accum,
            self.checked(gradients),
            self.get_lr(),
            self.decays_now(),
        )
        return self.finish_step()

    def _set_target(self, value: str) -> None:
        self._target = checked_target("ProximalAdagrad", value, ("CPU", "Ascend", "GPU"))
