"""The SOAP optimizer: Adam in the eigenbasis of Shampoo's factors."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import is_number
from mycelia._engine.core.dtype import int32
from mycelia._engine.core.errors import problem, wrong_type
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
from mycelia.ops.elementwise.arithmetic import maximum, minimum
from mycelia.ops.elementwise.exponential import sqrt
from mycelia.ops.elementwise.power import pow
from mycelia.ops.elementwise.where import where
from mycelia.ops.optimizer.factor_refresh import KEEP, REFRESH, START, RefreshedBases
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class SOAP(Optimizer):
    """The SOAP optimizer: Adam in the eigenbasis of Shampoo's factors (Vyas et al., 2024).

    Each axis with at most `max_precond_dim` elements has a factor, a running mean with decay
    `shampoo_beta` (`betas[1]` if that is negative), and its eigenvectors, refreshed every
    `precondition_frequency` steps by one power iteration and a QR step. Parameters of one axis
    are updated by plain Adam unless `precondition_1d` is set. The first gradient only initializes
    the basis and updates no parameter, so that no step is scaled by its own gradient.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 3e-3,
        betas: tuple[float, float] = (0.95, 0.95),
        shampoo_beta: float = -1,
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        precondition_frequency: int = 10,
        max_precond_dim: int = 1024,
        precondition_1d: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "betas": betas,
            "shampoo_beta": shampoo_beta,
            "eps": eps,
            "weight_decay": weight_decay,
            "precondition_frequency": precondition_frequency,
            "max_precond_dim": max_precond_dim,
            "precondition_1d": precondition_1d,
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def add_param_group(self, param_group: Group) -> None:
        if isinstance(param_group, dict):
            _check(self.defaults | param_group)
        super().add_param_group(param_group)

    def own_states(self, parameter: Parameter, group: Group) -> dict[str, Tensor]:
        states = {"exp_avg": zeros_beside(parameter), "exp_avg_sq": zeros_beside(parameter)}
        for axis in self.axes(parameter, group):
            size = parameter.shape[axis]
            states[f"factor_{axis}"] = zeros_beside(parameter, (size, size))
            states[f"basis_{axis}"] = zeros_beside(parameter, (size, size))
        return states

    def axes(self, parameter: Any, group: Group) -> tuple[int, ...]:
        """Axes of a parameter that have a basis."""
        return factored_axes(parameter.shape, group["max_precond_dim"], group["precondition_1d"])

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        gradient = cast(gradient, self.slots[index]["exp_avg"].dtype)
        self.step_in_basis(index, gradient, group, step - 1.0)
        if self.axes(gradient, group):
            self.refresh_bases(index, gradient, group, step - 1.0)

    def step_in_basis(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        """Update one parameter by Adam with squares in the eigenbasis; nothing in step 0."""
        slots, (beta1, beta2) = self.slots[index], group["betas"]
        bases = {axis: slots[f"basis_{axis}"] for axis in self.axes(gradient, group)}
        moving, count = minimum(step, 1.0), maximum(step, 1.0)
        turned = contracted(gradient, bases, 0)
        mean, squares = slots["exp_avg"], slots["exp_avg_sq"]
        mean = mean + (gradient - mean) * ((1.0 - beta1) * moving)
        squares = squares + (turned * turned - squares) * ((1.0 - beta2) * moving)
        mean = self.keep_slot("exp_avg", index, mean)
        squares = self.keep_slot("exp_avg_sq", index, squares)
        change = contracted(contracted(mean, bases, 0) / (sqrt(squares) + group["eps"]), bases, 1)
        rate = group["lr"] * sqrt(1.0 - pow(beta2, count)) / (1.0 - pow(beta1, count))
        self.move(index, -(rate * moving) * change)
        if group["weight_decay"] != 0:
            decay = group["lr"] * group["weight_decay"] * moving
            self.move(index, -self.parameters[index] * decay)

    def refresh_bases(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        """Update the factors of the axes with the gradient, and refresh the bases when due."""
        slots, axes = self.slots[index], self.axes(gradient, group)
        beta = group["shampoo_beta"] if group["shampoo_beta"] >= 0 else group["betas"][1]
        factors = []
        for axis in axes:
            old, new = slots[f"factor_{axis}"], factor(gradient, axis)
            grown = old * beta + new * (1.0 - beta)
            factors.append(self.keep_slot(f"factor_{axis}", index, grown))
        due = where(step % group["precondition_frequency"] == 0.0, REFRESH, KEEP)
        squares, *bases = RefreshedBases.of(axes)(
            cast(where(step == 0.0, START, due), int32),
            slots["exp_avg_sq"],
            tuple(factors),
            tuple(slots[f"basis_{axis}"] for axis in axes),
        )
        self.keep_slot("exp_avg_sq", index, squares)
        for axis, basis in zip(axes, bases, strict=True):
            self.keep_slot(f"basis_{axis}", index, basis)


def _check(settings: Group) -> None:
    check_rate("SOAP", settings["lr"])
    check_betas(settings["betas"])
    if not is_number(settings["shampoo_beta"]):
        raise wrong_type("SOAP", "shampoo_beta", settings["shampoo_beta"], "float")
    if settings["shampoo_beta"] >= 1.0:
        raise problem(
            ValueError,
            f"Invalid shampoo_beta: {settings['shampoo_beta']}",
            expected="a number below 1, negative for the second of betas",
        )
    check_at_least("epsilon value", settings["eps"], 0.0)
    check_at_least("weight_decay value", settings["weight_decay"], 0.0)
    for name in ("precondition_frequency", "max_precond_dim"):
        check_count("SOAP", name, settings[name])
