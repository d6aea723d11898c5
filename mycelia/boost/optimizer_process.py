"""Changing the parameter groups of an optimizer, and recreating it with them."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_instance
from mycelia._engine.core.errors import problem
from mycelia.boost.optimizer_rebuild import groups_of, rate_of, remade, remade_lars
from mycelia.boost.parameter_process import without_empty
from mycelia.nn.cell import Cell
from mycelia.nn.optim.lars import LARS
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.tensor.parameter import Parameter

# Parts of the names of biases and scales.
_NEVER_CENTERED = ("bias", "beta", "gamma")


class OptimizerProcess:
    """The arguments of an optimizer; `origin_params` and `learning_rate` may be changed.

    For a LARS, they are those of the wrapped optimizer.
    """

    def __init__(self, opt: Any) -> None:
        self._outer: Optimizer = check_instance("OptimizerProcess", "opt", opt, Optimizer)
        self.is_lars = isinstance(opt, LARS)
        self._inner: Optimizer = opt.opt if self.is_lars else opt
        self.opt_class = type(self._inner)
        self.learning_rate = rate_of(self._inner)
        self.origin_params = groups_of(self._inner, self._outer)

    @staticmethod
    def build_params_dict(network: Cell) -> dict[int, Cell]:
        """The cell that owns each parameter, by the id of the parameter."""
        return {
            id(parameter): cell
            for _, cell in network.cells_and_names()
            for parameter in cell.get_parameters(expand=False)
        }

    @staticmethod
    def build_gc_params_group(
        params_dict: dict[int, Cell], parameters: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """Split each group into parameters with centralized gradients and others."""
        groups: list[dict[str, Any]] = []
        for group in parameters:
            if "order_params" in group:
                groups.append(group)
                continue
            centered, others = _split(params_dict, group["params"])
            groups.append({**group, "params": centered, "grad_centralization": True})
            groups.append({**group, "params": others})
        return without_empty(groups)

    def add_grad_centralization(self, network: Cell) -> None:
        """Enable gradient centralization (Yong et al., 2020) in groups, if there are any."""
        if isinstance(self.origin_params[0], dict):
            owners = self.build_params_dict(network)
            self.origin_params = self.build_gc_params_group(owners, self.origin_params)

    def generate_new_optimizer(self) -> Any:
        """A new optimizer of the same type and arguments, at its first step."""
        optimizer = remade(self._inner, self.origin_params, self.learning_rate)
        return remade_lars(self._outer, optimizer) if isinstance(self._outer, LARS) else optimizer


def _split(owners: dict[int, Cell], parameters: Any) -> tuple[list[Parameter], list[Parameter]]:
    centered: list[Parameter] = []
    others: list[Parameter] = []
    for parameter in parameters:
        if id(parameter) not in owners:
            raise problem(
                KeyError,
                f"add_grad_centralization: the network has no parameter {parameter.name!r}",
                fix="pass the network whose parameters the optimizer updates",
            )
        chosen = centered if _can_be_centered(owners[id(parameter)], parameter) else others
        chosen.append(parameter)
    return centered, others


def _can_be_centered(owner: Cell, parameter: Parameter) -> bool:
    """Whether each row is the weights of one neuron with enough inputs (no groups)."""
    if any(word in parameter.name for word in _NEVER_CENTERED):
        return False
    return parameter.ndim > 1 and getattr(owner, "group", 1) == 1
