"""The SGD optimizer."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.errors import problem
from mycelia.mint.optim.optimizer import MintOptimizer, check_not_negative
from mycelia.ops.optimizer.fused_updates import DescentUpdate
from mycelia.ops.optimizer.group_updates import MomentumGroupUpdate
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class SGD(MintOptimizer):
    """Stochastic gradient descent, with optional momentum and Nesterov acceleration."""

    def __init__(
        self,
        params: Any,
        lr: Any,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )
        self._momenta = self.states("momentum_buf")
        self.step_t = Parameter(Tensor(0, dtypes.int32), name="step_t")

    def check_group(self, group: dict[str, Any]) -> None:
        check_not_negative("SGD", group, "lr", "momentum", "weight_decay")
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise problem(
                ValueError,
                "SGD: 'nesterov' needs a momentum and no dampening",
                got=f"momentum={group['momentum']} and dampening={group['dampening']}",
            )

    def begin_step(self) -> None:
        self.step_t = ops.add(self.step_t, 1)

    def update_group(self, number: int, group: dict[str, Any], gradients: tuple[Any, ...]) -> None:
        fields = self.update_fields(group)
        params = tuple(group["params"])
        if not group["momentum"]:
            DescentUpdate.of(**fields)(params, gradients, group["lr"], None)
            return
        update = MomentumGroupUpdate.of(
            **fields,
            momentum=float(group["momentum"]),
            dampening=float(group["dampening"]),
            nesterov=group["nesterov"],
        )
        update(params, self._momenta[number], self.step_t, gradients, group["lr"], None)
