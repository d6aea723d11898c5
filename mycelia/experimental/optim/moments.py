"""The Adam optimizer and its variants: AdamW, Adamax, NAdam, RAdam."""

from __future__ import annotations

from typing import Any

from mycelia.experimental.optim.optimizer import (
    Group,
    Optimizer,
    check_at_least,
    check_betas,
    check_rate,
)
from mycelia.ops.elementwise.arithmetic import abs, maximum
from mycelia.ops.elementwise.exponential import sqrt
from mycelia.ops.elementwise.power import pow
from mycelia.ops.elementwise.where import where


class MomentsOptimizer(Optimizer):
    """Base class of Adam variants: the running means, and checks of the shared settings."""

    def __init__(self, params: Any, **settings: Any) -> None:
        check_rate(type(self).__name__, settings["lr"])
        check_betas(settings["betas"])
        check_at_least("epsilon value", settings["eps"], 0.0)
        check_at_least("weight_decay value", settings["weight_decay"], 0.0)
        super().__init__(params, settings)

    def states(self) -> dict[str, Any]:
        return {"exp_avg": "zeros", "exp_avg_sq": "zeros"}

    def means(self, index: int, gradient: Any, group: Group) -> tuple[Any, Any]:
        """Running means of the gradient and its square, updated with this gradient."""
        beta1, beta2 = group["betas"]
        first = self.exp_avg[index] * beta1 + gradient * (1.0 - beta1)
        second = self.exp_avg_sq[index] * beta2 + gradient * gradient * (1.0 - beta2)
        return self.keep("exp_avg", index, first), self.keep("exp_avg_sq", index, second)


class Adam(MomentsOptimizer):
    """The Adam optimizer (Kingma and Ba, 2015)."""

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
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            amsgrad=amsgrad,
            maximize=maximize,
        )

    def states(self) -> dict[str, Any]:
        return super().states() | {"max_exp_avg_sq": "zeros"}

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        self.step_by(index, self.decayed(index, gradient, group), group, step)

    def step_by(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        """Update one parameter by its bias-corrected means."""
        beta1, beta2 = group["betas"]
        first, second = self.means(index, gradient, group)
        if group["amsgrad"]:
            highest = maximum(self.max_exp_avg_sq[index], second)
            second = self.keep("max_exp_avg_sq", index, highest)
        scale = sqrt(second) / sqrt(1.0 - pow(beta2, step)) + group["eps"]
        self.move(index, -(group["lr"] / (1.0 - pow(beta1, step))) * first / scale)


class AdamW(Adam):
    """The AdamW optimizer: Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        self.move(index, -self.parameters[index] * (group["lr"] * group["weight_decay"]))
        self.step_by(index, gradient, group, step)


class Adamax(MomentsOptimizer):
    """The Adamax optimizer: Adam with the infinity norm (Kingma and Ba, 2015)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize
        )

    def states(self) -> dict[str, Any]:
        return {"exp_avg": "zeros", "exp_inf": "zeros"}

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        gradient = self.decayed(index, gradient, group)
        beta1, beta2 = group["betas"]
        mean = self.exp_avg[index] * beta1 + gradient * (1.0 - beta1)
        largest = maximum(self.exp_inf[index] * beta2, abs(gradient) + group["eps"])
        mean, largest = self.keep("exp_avg", index, mean), self.keep("exp_inf", index, largest)
        self.move(index, -(group["lr"] / (1.0 - pow(beta1, step))) * mean / largest)


class NAdam(MomentsOptimizer):
    """The NAdam optimizer: Adam with Nesterov momentum (Dozat, 2016)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
    ) -> None:
        check_at_least("momentum_decay value", momentum_decay, 0.0)
        super().__init__(
            params,
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            momentum_decay=momentum_decay,
        )

    def states(self) -> dict[str, Any]:
        return super().states() | {"mu_product": "ones"}

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        gradient = self.decayed(index, gradient, group)
        beta1, beta2 = group["betas"]
        first, second = self.means(index, gradient, group)
        now, ahead = (
            beta1 * (1.0 - 0.5 * pow(0.96, at * group["momentum_decay"]))
            for at in (step, step + 1.0)
        )
        product = self.keep("mu_product", index, self.mu_product[index] * now)
        scale = sqrt(second / (1.0 - pow(beta2, step))) + group["eps"]
        mean = gradient * (1.0 - now) / (1.0 - product) + first * ahead / (1.0 - product * ahead)
        self.move(index, -group["lr"] * mean / scale)


class RAdam(MomentsOptimizer):
    """The RAdam optimizer: Adam with rectified variance (Liu et al., 2020)."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        gradient = self.decayed(index, gradient, group)
        beta1, beta2 = group["betas"]
        first, second = self.means(index, gradient, group)
        most = 2.0 / (1.0 - beta2) - 1.0
        fading = pow(beta2, step)
        seen = most - 2.0 * step * fading / (1.0 - fading)
        enough = seen > 5.0
        safe = where(enough, seen, 6.0)
        rectified = sqrt((safe - 4.0) * (safe - 2.0) * most / ((most - 4.0) * (most - 2.0) * safe))
        adaptive = rectified * sqrt(1.0 - fading) / (sqrt(second) + group["eps"])
        mean = first / (1.0 - pow(beta1, step))
        self.move(index, -group["lr"] * mean * where(enough, adaptive, 1.0))
