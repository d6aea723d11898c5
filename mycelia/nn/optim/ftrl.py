"""The FTRL optimizer: follow the regularized leader."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool, check_instance
from mycelia._engine.core.errors import problem, wrong_value
from mycelia.nn.float_checks import non_negative_float, positive_float
from mycelia.nn.optim.optimizer import Optimizer, checked_target
from mycelia.ops.optimizer.fused_updates import FtrlUpdate
from mycelia.tensor.parameter import Parameter


class FTRL(Optimizer):
    """The FTRL optimizer (McMahan et al., 2013): online learning with sparse parameters.

    The learning rate must be one fixed value for all parameters.
    """

    def __init__(
        self,
        params: Any,
        initial_accum: float = 0.1,
        learning_rate: float = 0.001,
        lr_power: float = -0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_lr or self.is_group_lr:
            raise problem(
                ValueError,
                "FTRL needs one fixed learning rate for all parameters",
                got="a dynamic rate" if self.dynamic_lr else "groups with different rates",
            )
        start = non_negative_float("FTRL", "initial_accum", initial_accum)
        self.lr = positive_float("FTRL", "learning_rate", learning_rate)
        self.use_locking = check_bool("FTRL", "use_locking", use_locking)
        self.l1, self.l2, self.lr_power = l1, l2, lr_power
        self.update = FtrlUpdate(
            **self.update_fields(),
            l1=non_negative_float("FTRL", "l1", l1),
            l2=non_negative_float("FTRL", "l2", l2),
            lr_power=_checked_power(lr_power),
        )
        self.moments = self.parameters.clone("moments", start)
        self.linear = self.parameters.clone("linear", "zeros")

    def construct(self, gradients: Any) -> Any:
        self.update(
            self.parameters,
            self.moments,
            self.linear,
            self.checked(gradients),
            self.get_lr(),
            self.decays_now(),
        )
        return self.finish_step()

    def _may_decay(self, parameter: Parameter) -> bool:
        return True

    def _set_target(self, value: str) -> None:
        self._target = checked_target("FTRL", value, ("CPU", "Ascend", "GPU"))


def _checked_power(value: Any) -> float:
    if check_instance("FTRL", "lr_power", value, float) > 0.0:
        raise wrong_value("FTRL", "lr_power", value, "float and must <= 0")
    return float(value)
