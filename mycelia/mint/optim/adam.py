"""The Adam and AdamW optimizers."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import is_number
from mycelia._engine.core.errors import problem
from mycelia.mint.optim.optimizer import MintOptimizer, check_not_negative
from mycelia.ops.optimizer.group_updates import AdamGroupUpdate
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class Adam(MintOptimizer):
    """The Adam optimizer (Kingma and Ba, 2015).

    `amsgrad` divides by the maximum of all second-moment estimates (Reddi et al., 2018).
    """

    decoupled = False

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
            },
        )
        self._moments1 = self.states("exp_avg")
        self._moments2 = self.states("exp_avg_sq")
        self._largest: list[tuple[Any, ...]] = [() for _ in self.param_groups]
        if any(group["amsgrad"] for group in self.param_groups):
            made = self.states("max_exp_avg_sq")
            self._largest = [
                states if group["amsgrad"] else ()
                for states, group in zip(made, self.param_groups, strict=True)
            ]
        self.state_step = Parameter(Tensor([0], dtypes.float32), name="state_step")

    def check_group(self, group: dict[str, Any]) -> None:
        owner = type(self).__name__
        check_not_negative(owner, group, "lr", "eps", "weight_decay")
        for beta in group["betas"]:
            if not is_number(beta) or not 0 <= beta < 1:
                raise problem(
                    ValueError,
                    f"{owner}: the betas must lie in [0, 1)",
                    got=f"betas={group['betas']}",
                )

    def begin_step(self) -> None:
        self.state_step = ops.add(self.state_step, 1)

    def update_group(self, number: int, group: dict[str, Any], gradients: tuple[Any, ...]) -> None:
        beta1, beta2 = group["betas"]
        update = AdamGroupUpdate.of(
            **self.update_fields(group),
            beta1=float(beta1),
            beta2=float(beta2),
            epsilon=float(group["eps"]),
            decoupled=self.decoupled,
        )
        update(
            tuple(group["params"]),
            self._moments1[number],
            self._moments2[number],
            self._largest[number],
            self.state_step,
            gradients,
            group["lr"],
            None,
        )


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    decoupled = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


class FusedAdamW(AdamW):
    """The same as AdamW, whose update is always one program for all parameters of a group."""
