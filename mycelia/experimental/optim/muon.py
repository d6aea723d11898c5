"""The Muon optimizer: orthogonalized momentum for hidden matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem, wrong_type
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
from mycelia.ops.linalg.matmul import MatMul
from mycelia.ops.reduction.reduction import sum as sum_of
from mycelia.ops.shapes.reshape import reshape
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

_QUINTIC = (3.4445, -4.7750, 2.0315)
_WIDER: dict[str | None, Any] = {
    None: lambda rows, columns: 1.0,
    "original": lambda rows, columns: math.sqrt(max(1.0, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


class Muon(Optimizer):
    """The Muon optimizer: orthogonalized momentum for hidden matrices (Jordan et al., 2024).

    A parameter with more than two axes is flattened to a matrix that keeps its first axis. AdamW
    updates all other parameters: those with fewer than two axes, those whose name contains one of
    `adamw_names` (list embeddings and output layers there), and groups with `use_muon=False`. Its
    learning rate is `adamw_lr` (in a group with `use_muon=False`, the group's `lr`), which scales
    along if a scheduler changes the learning rate of the group.

    `adjust_lr` scales the learning rate by shape: "original" by sqrt(max(1, rows / columns)),
    "match_rms_adamw" by 0.2 sqrt(max(rows, columns)), which allows learning rates tuned for AdamW
    (Liu et al., 2025), and None not at all.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 0.02,
        momentum: float = 0.95,
        nesterov: bool = True,
        weight_decay: float = 0.0,
        ns_steps: int = 5,
        adjust_lr: str | None = "original",
        adamw_lr: float = 3e-4,
        adamw_betas: tuple[float, float] = (0.9, 0.95),
        adamw_eps: float = 1e-8,
        adamw_names: Sequence[str] = (),
        *,
        maximize: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "momentum": momentum,
            "nesterov": nesterov,
            "weight_decay": weight_decay,
            "ns_steps": ns_steps,
            "adjust_lr": adjust_lr,
            "use_muon": True,
            "adamw_lr": adamw_lr,
            "adamw_betas": adamw_betas,
            "adamw_eps": adamw_eps,
            "adamw_names": _checked_names(adamw_names),
            "maximize": maximize,
        }
        super().__init__(params, settings)

    def add_param_group(self, param_group: Group) -> None:
        if isinstance(param_group, dict) and not param_group.get("use_muon", True):
            param_group = {"lr": self.defaults["adamw_lr"]} | param_group
            param_group["adamw_lr"] = param_group["lr"]
        if isinstance(param_group, dict):
            settings = self.defaults | param_group
            _check(settings)
            ratio = float(settings["adamw_lr"]) / float(settings["lr"])
            param_group = param_group | {"adamw_ratio": ratio}
        super().add_param_group(param_group)

    def own_states(self, parameter: Parameter, group: Group) -> dict[str, Tensor]:
        if is_hidden_matrix(parameter, group):
            return {"momentum_buffer": zeros_beside(parameter)}
        return {"exp_avg": zeros_beside(parameter), "exp_avg_sq": zeros_beside(parameter)}

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        if "momentum_buffer" in self.slots[index]:
            self.step_orthogonally(index, gradient, group)
        else:
            self.step_by_adamw(index, gradient, group, step)

    def step_orthogonally(self, index: int, gradient: Any, group: Group) -> None:
        """Update one hidden matrix by Muon."""
        rate, momentum = group["lr"], group["momentum"]
        mean = self.slots[index]["momentum_buffer"] * momentum + gradient * (1.0 - momentum)
        mean = self.keep_slot("momentum_buffer", index, mean)
        change = gradient * (1.0 - momentum) + mean * momentum if group["nesterov"] else mean
        rows, columns = matrix_shape(gradient.shape)
        matrix = orthogonalized(reshape(change, (rows, columns)), group["ns_steps"])
        if group["weight_decay"] != 0:
            self.move(index, -self.parameters[index] * (rate * group["weight_decay"]))
        wider = _WIDER[group["adjust_lr"]](rows, columns)
        self.move(index, -(rate * wider) * reshape(matrix, gradient.shape))

    def step_by_adamw(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        """Update one parameter that is not a hidden matrix."""
        rate, (beta1, beta2) = group["lr"] * group["adamw_ratio"], group["adamw_betas"]
        first = self.slots[index]["exp_avg"] * beta1 + gradient * (1.0 - beta1)
        second = self.slots[index]["exp_avg_sq"] * beta2 + gradient * gradient * (1.0 - beta2)
        first = self.keep_slot("exp_avg", index, first)
        second = self.keep_slot("exp_avg_sq", index, second)
        scale = sqrt(second / (1.0 - pow(beta2, step))) + group["adamw_eps"]
        if group["weight_decay"] != 0:
            self.move(index, -self.parameters[index] * (rate * group["weight_decay"]))
        self.move(index, -(rate / (1.0 - pow(beta1, step))) * first / scale)


def orthogonalized(matrix: Any, steps: int) -> Any:
    """Approximate nearest orthogonal matrix, by Newton-Schulz iterations.

    The polynomial of Jordan et al. (2024) moves all singular values quickly to between 0.7 and 1.2,
    instead of slowly to 1.
    """
    a, b, c = _QUINTIC
    rows, columns = matrix.shape
    wide = rows <= columns
    product = MatMul.of(not wide, wide)  # the smaller of x x^T and x^T x
    x = matrix / (sqrt(sum_of(matrix * matrix)) + 1e-7)
    for _ in range(steps):
        square = product(x, x)
        polynomial = b * square + c * MatMul.of()(square, square)
        x = a * x + (MatMul.of()(polynomial, x) if wide else MatMul.of()(x, polynomial))
    return x


def matrix_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """Matrix shape with the first axis as rows and all others as columns."""
    return shape[0], math.prod(shape[1:])


def is_hidden_matrix(parameter: Parameter, group: Group) -> bool:
    """Whether Muon, not AdamW, updates a parameter."""
    named = any(part in parameter.name for part in group["adamw_names"])
    return bool(group["use_muon"]) and parameter.ndim >= 2 and not named


def _checked_names(names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise wrong_type("Muon", "adamw_names", names, "a list of str")
    return tuple(names)


def _check(settings: Group) -> None:
    check_rate("Muon", settings["lr"])
    check_rate("Muon", settings["adamw_lr"])
    if float(settings["lr"]) == 0.0:
        raise problem(ValueError, "Invalid learning rate: 0", expected="a positive number")
    check_betas(settings["adamw_betas"])
    check_betas((settings["momentum"], 0.0))
    check_at_least("weight_decay value", settings["weight_decay"], 0.0)
    check_at_least("epsilon value", settings["adamw_eps"], 0.0)
    if not is_int(settings["ns_steps"]) or settings["ns_steps"] < 1:
        raise problem(ValueError, f"Invalid ns_steps: {settings['ns_steps']}", expected="from 1")
    if settings["adjust_lr"] not in _WIDER:
        raise problem(
            ValueError,
            "Muon: 'adjust_lr' must be 'original', 'match_rms_adamw' or None",
            got=repr(settings["adjust_lr"]),
        )
