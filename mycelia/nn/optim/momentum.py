"""The Momentum optimizer: gradient descent with momentum."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool
from mycelia.nn.float_checks import non_negative_float
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.ops.optimizer.fused_updates import MomentumUpdate
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class Momentum(Optimizer):
    """Gradient descent with heavy-ball momentum (Sutskever et al., 2013)."""

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        momentum: float,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        amount = non_negative_float("Momentum", "momentum", momentum)
        self.use_nesterov = check_bool("Momentum", "use_nesterov", use_nesterov)
        self.momentum = Parameter(Tensor(amount, dtypes.float32), name="momentum")
        self.params = self.parameters
        self.moments = self.parameters.clone("moments", "zeros")
        self.update = MomentumUpdate(**self.update_fields(), use_nesterov=self.use_nesterov)

    def construct(self, gradients: Any) -> Any:
        self.update(
            self.parameters,
            self.moments,
            self.checked(gradients),
            self.get_lr(),
            self.momentum,
            self.decays_now(),
        )
        return self.finish_step()
