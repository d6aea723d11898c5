"""The SGD optimizer: stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool, check_non_negative_float
from mycelia._engine.core.errors import problem
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.ops.optimizer.fused_updates import DescentUpdate, SgdUpdate
from mycelia.ops.optimizer.support import Update
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class SGD(Optimizer):
    """Stochastic gradient descent with optional momentum and Nesterov acceleration.

    An optimizer created without momentum never uses it, and leaves the momentum states unchanged.
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: Any = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        momentum = check_non_negative_float("SGD", "momentum", _number(momentum))
        self.dampening = check_non_negative_float("SGD", "dampening", _number(dampening))
        self.nesterov = check_bool("SGD", "nesterov", nesterov)
        if nesterov and (momentum <= 0.0 or self.dampening != 0.0):
            raise problem(
                ValueError,
                "SGD: 'nesterov' needs a momentum and no dampening",
                got=f"momentum={momentum} and dampening={self.dampening}",
            )
        self.momentum = Parameter(Tensor(momentum, dtypes.float32), name="momentum")
        self.accum = self.parameters.clone("accum", "zeros")
        self.stat = self.parameters.clone("stat", "ones")
        self.has_momentum = momentum > 0
        shared = self.update_fields()
        self.update: Update = (
            SgdUpdate(**shared, dampening=self.dampening, nesterov=self.nesterov)
            if self.has_momentum
            else DescentUpdate(**shared)
        )

    def construct(self, gradients: Any) -> Any:
        gradients, rates, decays = self.checked(gradients), self.get_lr(), self.decays_now()
        if self.has_momentum:
            states = self.accum, self.stat
            self.update(self.parameters, *states, gradients, rates, self.momentum, decays)
        else:
            self.update(self.parameters, gradients, rates, decays)
        return self.finish_step()


def _number(value: Any) -> Any:
    """Bools count as 0 and 1 here, as they do in MindSpore."""
    return int(value) if isinstance(value, bool) else value
