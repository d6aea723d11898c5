"""The Shampoo optimizer: gradients preconditioned by roots of Kronecker factors."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.experimental.optim.factors import (
    check_count,
    contracted,
    factor,
    factored_axes,
)
from mycelia.experimental.optim.optimizer import (
    Group,
    Optimizer,
    check_at_least,
    check_betas,
    check_rate,
    zeros_beside,
)
from mycelia.ops.elementwise.exponential import sqrt
from mycelia.ops.elementwise.power import pow
from mycelia.ops.elementwise.where import where
from mycelia.ops.optimizer.factor_refresh import RefreshedRoots
from mycelia.ops.reduction.reduction import sum as sum_of
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

_GRAFTINGS = ("rmsprop", "sgd", None)
_TINY = 1e-30


class Shampoo(Optimizer):
    """The Shampoo optimizer (Gupta et al., 2018; Anil et al., 2020).

    Each axis of a gradient has a Kronecker factor, whose inverse roots precondition the step. The
    factors are running means with decay `betas[1]`, or sums if that is 1. Their roots, of order
    twice the number of factors, are recomputed every `precondition_frequency` steps. Axes with more
    than `max_preconditioner_dim` elements have no factor, nor have parameters of one axis unless
    `precondition_1d` is set.

    `grafting` scales each step to the length of another optimizer's step: "rmsprop", "sgd", or None
    for Shampoo's length. That optimizer also makes the steps before the first roots, and those of
    parameters without factors.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        betas: tuple[float, float] = (0.9, 0.99),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        precondition_frequency: int = 10,
        max_preconditioner_dim: int = 1024,
        precondition_1d: bool = False,
        grafting: str | None = "rmsprop",
        grafting_eps: float = 1e-8,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "precondition_frequency": precondition_frequency,
            "max_preconditioner_dim": max_preconditioner_dim,
            "precondition_1d": precondition_1d,
            "grafting": grafting,
            "grafting_eps": grafting_eps,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def add_param_group(self, param_group: Group) -> None:
        if isinstance(param_group, dict):
            _check(self.defaults | param_group)
        super().add_param_group(param_group)

    def own_states(self, parameter: Parameter, group: Group) -> dict[str, Tensor]:
        states = {"exp_avg": zeros_beside(parameter)}
        if group["grafting"] == "rmsprop":
            states["exp_avg_sq"] = zeros_beside(parameter)
        for axis in self.axes(parameter, group):
            size = parameter.shape[axis]
            states[f"factor_{axis}"] = zeros_beside(parameter, (size, size))
            states[f"root_{axis}"] = zeros_beside(parameter, (size, size))
        return states

    def axes(self, parameter: Any, group: Group) -> tuple[int, ...]:
        """Axes of a parameter that have factors."""
        return factored_axes(
            parameter.shape, group["max_preconditioner_dim"], group["precondition_1d"]
        )

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        slots, beta1 = self.slots[index], group["betas"][0]
        gradient = cast(gradient, slots["exp_avg"].dtype)
        change = self.grafting_step(index, gradient, group, step)
        if self.axes(gradient, group):
            preconditioned = self.preconditioned(index, gradient, group, step)
            if group["grafting"] is not None:
                preconditioned = preconditioned * (
                    _length(change) / (_length(preconditioned) + _TINY)
                )
            change = where(step < group["precondition_frequency"], change, preconditioned)
        mean = slots["exp_avg"] * beta1 + change * (1.0 - beta1)
        mean = self.keep_slot("exp_avg", index, mean) / (1.0 - pow(beta1, step))
        if group["weight_decay"] != 0:
            self.move(index, -self.parameters[index] * (group["lr"] * group["weight_decay"]))
        self.move(index, -group["lr"] * mean)

    def preconditioned(self, index: int, gradient: Any, group: Group, step: Any) -> Any:
        """Updates the factors, and multiplies the gradient by their inverse roots."""
        slots, axes, beta2 = self.slots[index], self.axes(gradient, group), group["betas"][1]
        factors = []
        for axis in axes:
            grown = _accumulated(slots[f"factor_{axis}"], factor(gradient, axis), beta2)
            factors.append(self.keep_slot(f"factor_{axis}", index, grown))
        refreshed = RefreshedRoots.of(2 * len(axes), float(group["eps"]))
        share = _bias_correction(beta2, step)
        roots = refreshed(
            step % group["precondition_frequency"] == 0.0,
            tuple(each / share for each in factors),
            tuple(slots[f"root_{axis}"] for axis in axes),
        )
        for axis, root in zip(axes, roots, strict=True):
            self.keep_slot(f"root_{axis}", index, root)
        return contracted(gradient, dict(zip(axes, roots, strict=True)), 0)

    def grafting_step(self, index: int, gradient: Any, group: Group, step: Any) -> Any:
        """The step of the grafting optimizer."""
        if group["grafting"] != "rmsprop":
            return gradient
        beta2 = group["betas"][1]
        squares = _accumulated(self.slots[index]["exp_avg_sq"], gradient * gradient, beta2)
        squares = self.keep_slot("exp_avg_sq", index, squares) / _bias_correction(beta2, step)
        return gradient / (sqrt(squares) + group["grafting_eps"])


def _accumulated(mean: Any, new: Any, beta: float) -> Any:
    """Running mean updated with `new`; a sum if `beta` is 1."""
    return mean + new if beta == 1.0 else mean * beta + new * (1.0 - beta)


def _bias_correction(beta: float, step: Any) -> Any:
    """Adam's bias correction 1 - beta ** step; for sums (`beta` of 1), 1."""
    return 1.0 if beta == 1.0 else 1.0 - pow(beta, step)


def _length(x: Any) -> Any:
    return sqrt(sum_of(x * x))


def _check(settings: Group) -> None:
    check_rate("Shampoo", settings["lr"])
    betas = settings["betas"]
    sums = isinstance(betas, (tuple, list)) and len(betas) == 2 and betas[1] == 1.0
    check_betas((betas[0], 0.0) if sums else betas)
    check_at_least("epsilon value", settings["eps"], 0.0)
    check_at_least("grafting epsilon value", settings["grafting_eps"], 0.0)
    check_at_least("weight_decay value", settings["weight_decay"], 0.0)
    for name in ("precondition_frequency", "max_preconditioner_dim"):
        check_count("Shampoo", name, settings[name])
    if settings["grafting"] not in _GRAFTINGS:
        raise problem(
            ValueError,
            "Shampoo: 'grafting' must be 'rmsprop', 'sgd' or None",
            got=repr(settings["grafting"]),
        )
