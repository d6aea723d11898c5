"""The Adagrad optimizer."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool
from mycelia.nn.float_checks import non_negative_float
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.ops.optimizer.fused_updates import AdagradUpdate


class Adagrad(Optimizer):
    """The Adagrad optimizer (Duchi et al., 2011): rates fall with the sum of squared gradients."""

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 0.001,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        start = non_negative_float("Adagrad", "accum", accum)
        self.update_slots = check_bool("Adagrad", "update_slots", update_slots)
        self.accum = self.parameters.clone("accum", start)
        self.update = AdagradUpdate(**self.update_fields(), update_slots=self.update_slots)

    def construct(self, gradients: Any) -> Any:
        self.update(
            self.parameters,
            self.accum,
            self.checked(gradients),
            self.get_lr(),
            self.decays_now(),
        )
        return self.finish_step()
