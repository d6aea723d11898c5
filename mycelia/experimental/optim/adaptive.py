"""Adaptive optimizers: Adagrad, Adadelta, RMSprop, Rprop."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.experimental.optim.optimizer import Group, Optimizer, check_at_least, check_rate
from mycelia.ops.elementwise.arithmetic import sign
from mycelia.ops.elementwise.exponential import sqrt
from mycelia.ops.elementwise.lerp import clamp
from mycelia.ops.elementwise.where import where
from mycelia.ops.shapes.creation import full_like


class Adagrad(Optimizer):
    """The Adagrad optimizer (Duchi et al., 2011)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        check_rate("Adagrad", lr)
        check_at_least("lr_decay value", lr_decay, 0.0)
        check_at_least("weight_decay value", weight_decay, 0.0)
        check_at_least("initial_accumulator_value value", initial_accumulator_value, 0.0)
        check_at_least("epsilon value", eps, 0.0)
        settings = {
            "lr": lr,
            "lr_decay": lr_decay,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "eps": eps,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def states(self) -> dict[str, Any]:
        return {"accum": self.defaults["initial_accumulator_value"]}

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        gradient = self.decayed(index, gradient, group)
        rate = group["lr"] / (1.0 + (step - 1.0) * group["lr_decay"])
        squares = self.keep("accum", index, self.accum[index] + gradient * gradient)
        self.move(index, -rate * gradient / (sqrt(squares) + group["eps"]))


class Adadelta(Optimizer):
    """The Adadelta optimizer (Zeiler, 2012)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        check_rate("Adadelta", lr)
        check_at_least("epsilon value", eps, 0.0)
        check_at_least("weight_decay value", weight_decay, 0.0)
        if not 0.0 <= rho <= 1.0:
            raise problem(ValueError, f"Invalid rho value: {rho}", expected="0 to 1")
        settings = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def states(self) -> dict[str, Any]:
        return {"accum": "zeros", "accum_update": "zeros"}

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        gradient = self.decayed(index, gradient, group)
        rho, eps = group["rho"], group["eps"]
        mixed = self.accum[index] * rho + gradient * gradient * (1.0 - rho)
        squares, sizes = self.keep("accum", index, mixed), self.accum_update[index]
        change = sqrt(sizes + eps) / sqrt(squares + eps) * gradient
        self.keep("accum_update", index, sizes * rho + change * change * (1.0 - rho))
        self.move(index, -group["lr"] * change)


class RMSprop(Optimizer):
    """The RMSprop optimizer (Hinton, 2012)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        maximize: bool = False,
    ) -> None:
        check_rate("RMSprop", lr)
        check_at_least("epsilon value", eps, 0.0)
        check_at_least("momentum value", momentum, 0.0)
        check_at_least("weight_decay value", weight_decay, 0.0)
        check_at_least("alpha value", alpha, 0.0)
        settings = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def states(self) -> dict[str, Any]:
        return {"mean_square": "zeros", "mean_grad": "zeros", "moment": "zeros"}

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        gradient = self.decayed(index, gradient, group)
        alpha, momentum = group["alpha"], group["momentum"]
        mixed = self.mean_square[index] * alpha + gradient * gradient * (1.0 - alpha)
        size = self.keep("mean_square", index, mixed)
        if group["centered"]:
            mixed = self.mean_grad[index] * alpha + gradient * (1.0 - alpha)
            mean = self.keep("mean_grad", index, mixed)
            size = size - mean * mean
        change = gradient / (sqrt(size) + group["eps"])
        if momentum > 0:
            change = self.keep("moment", index, self.moment[index] * momentum + change)
        self.move(index, -group["lr"] * change)


class Rprop(Optimizer):
    """The Rprop optimizer: steps grow while a gradient keeps its sign (Riedmiller, Braun, 1993)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        maximize: bool = False,
    ) -> None:
        check_rate("Rprop", lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise problem(ValueError, f"Invalid eta values: {etas[0]}, {etas[1]}")
        settings = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}
        super().__init__(params, settings)

    def states(self) -> dict[str, Any]:
        return {"prev": "zeros", "step_size": "zeros"}

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        shrink, grow = group["etas"]
        least, most = group["step_sizes"]
        start = full_like(gradient, 1.0) * group["lr"]
        size = where(step == 1.0, start, self.step_size[index])
        turn = sign(gradient * self.prev[index])
        factor = where(turn > 0, grow, where(turn < 0, shrink, 1.0))
        size = self.keep("step_size", index, clamp(size * factor, least, most))
        kept = self.keep("prev", index, where(turn < 0, 0.0 * gradient, gradient))
        self.move(index, -sign(kept) * size)
