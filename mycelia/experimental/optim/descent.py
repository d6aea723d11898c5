"""Stochastic gradient descent: SGD and averaged SGD (ASGD)."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.experimental.optim.optimizer import Group, Optimizer, check_at_least, check_rate
from mycelia.ops.elementwise.arithmetic import maximum
from mycelia.ops.elementwise.power import pow
from mycelia.ops.elementwise.where import where


class SGD(Optimizer):
    """Stochastic gradient descent, with optional momentum and Nesterov acceleration."""

    def __init__(
        self,
        params: Any,
        lr: Any,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        check_rate("SGD", lr)
        check_at_least("momentum value", momentum, 0.0)
        check_at_least("weight_decay value", weight_decay, 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise problem(
                ValueError,
                "For 'SGD', if 'nesterov' is true, 'momentum' must be > 0.0 and 'dampening' must "
                f"equal to 0.0, but got 'momentum' {momentum}, 'dampening' {dampening}",
            )
        settings = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def states(self) -> dict[str, Any]:
        return {"accum": "zeros"}

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        gradient = self.decayed(index, gradient, group)
        momentum = group["momentum"]
        if momentum:
            fresh = where(step == 1.0, gradient, gradient * (1.0 - group["dampening"]))
            velocity = self.keep("accum", index, self.accum[index] * momentum + fresh)
            gradient = gradient + velocity * momentum if group["nesterov"] else velocity
        self.move(index, -group["lr"] * gradient)


class ASGD(Optimizer):
    """Averaged SGD: also keeps the mean of the parameters (Polyak and Juditsky, 1992)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        maximize: bool = False,
    ) -> None:
        check_rate("ASGD", lr)
        check_at_least("weight_decay value", weight_decay, 0.0)
        settings = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def states(self) -> dict[str, Any]:
        return {"ax": "zeros"}

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        gradient = self.decayed(index, gradient, group)
        shrink = 1.0 + group["lambd"] * group["lr"] * (step - 1.0)
        eta = group["lr"] / pow(shrink, group["alpha"])
        parameter = self.parameters[index]
        self.move(index, -parameter * (group["lambd"] * eta) - gradient * eta)
        share = 1.0 / maximum(step - group["t0"], 1.0)
        mean = self.ax[index]
        self.keep("ax", index, mean + (self.parameters[index] - mean) * share)
