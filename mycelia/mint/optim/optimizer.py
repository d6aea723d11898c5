"""The base class of the optimizers: parameter groups with separate settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import is_number
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.nn.cell import Cell
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor


class MintOptimizer(Cell):
    """Base class of optimizers: a call with the gradients updates the parameters.

    `param_groups` lists the settings of each group. Its 'lr' is a Parameter, so that schedulers can
    change it between steps.
    """

    @entry_point
    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(auto_prefix=False)
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        for group in _groups_of(type(self).__name__, params):
            self.add_param_group(group)
        everything = [p for group in self.param_groups for p in group["params"]]
        self.parameters = ParameterTuple(everything)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dict with 'params' and the settings that differ from the defaults."""
        owner = type(self).__name__
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise wrong_type(owner, "param_group", param_group, "a dict with 'params'")
        group = self.defaults | param_group
        group["params"] = _listed(owner, param_group["params"])
        self._check_new(group["params"])
        if not isinstance(group["lr"], (float, int, Tensor)) or isinstance(group["lr"], bool):
            raise wrong_type(owner, "lr", group["lr"], "float, int or Tensor")
        self.check_group(group)
        name = f"learning_rate_group_{len(self.param_groups)}"
        rate = Tensor(group["lr"], dtypes.float32)
        group["lr"] = Parameter(rate, name=name)
        self.param_groups.append(group)

    def check_group(self, group: dict[str, Any]) -> None:
        """Raise an error for invalid settings."""

    def construct(self, gradients: Any) -> Any:
        found = iter(self._checked(gradients))
        self.begin_step()
        for number, group in enumerate(self.param_groups):
            self.update_group(number, group, tuple(next(found) for _ in group["params"]))
        return True

    def begin_step(self) -> None:
        """Increment the step counter."""

    def update_group(self, number: int, group: dict[str, Any], gradients: tuple[Any, ...]) -> None:
        """Update the parameters of one group."""
        raise problem(NotImplementedError, f"{type(self).__name__} does not define an update")

    def update_fields(self, group: dict[str, Any]) -> dict[str, Any]:
        """The arguments that all update operators share; `maximize` negates the gradients."""
        decay = float(group["weight_decay"])
        return {
            "weight_decay": (decay,) * len(group["params"]) if decay else (),
            "loss_scale": -1.0 if group["maximize"] else 1.0,
        }

    def states(self, prefix: str) -> list[tuple[Any, ...]]:
        """Optimizer states: zeros with the shapes of the parameters, by group."""
        made = self.parameters.clone(prefix, "zeros")
        setattr(self, prefix, made)
        each = iter(made)
        return [tuple(next(each) for _ in group["params"]) for group in self.param_groups]

    def _check_new(self, params: list[Parameter]) -> None:
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if len({id(p) for p in params} - known) != len(params):
            raise problem(
                ValueError, f"{type(self).__name__}: a parameter is listed more than once"
            )

    def _checked(self, gradients: Any) -> Any:
        owner = type(self).__name__
        if not isinstance(gradients, (tuple, list)):
            raise wrong_type(owner, "gradients", gradients, "tuple of Tensors")
        if len(gradients) != len(self.parameters):
            raise problem(
                ValueError,
                f"{owner}: wrong number of gradients",
                got=f"{len(gradients)} gradients",
                expected=f"{len(self.parameters)}, one for each parameter",
            )
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            if parameter.shape != gradient.shape:
                raise problem(
                    ValueError,
                    f"{owner}: a gradient and its parameter have different shapes",
                    got=f"{gradient.shape} for {parameter.name}",
                    expected=f"{parameter.shape}",
                )
        return gradients

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {number}"] if number else ["Parameter Group 0"]
            shown = {k: v for k, v in group.items() if k != "params"} | {"lr": group["lr"].item()}
            lines += [f"    {key}: {shown[key]}" for key in sorted(shown)]
        return "\n".join([*lines, ")"])


def check_not_negative(owner: str, group: dict[str, Any], *names: str) -> None:
    """Raise an error for settings that are not numbers or are negative."""
    for name in names:
        value = group[name]
        if isinstance(value, Tensor):
            continue
        if not is_number(value):
            raise wrong_type(owner, name, value, "float or int")
        if value < 0:
            raise problem(ValueError, f"{owner}: '{name}' must not be negative", got=f"{value}")


def _groups_of(owner: str, params: Any) -> list[dict[str, Any]]:
    if isinstance(params, Cell):
        raise problem(
            TypeError,
            f"{owner}: expected a list of parameters, not a network",
            got=f"a {type(params).__name__}",
            fix="pass net.trainable_params()",
        )
    if isinstance(params, (Parameter, Tensor, str, dict)) or not isinstance(params, Iterable):
        raise wrong_type(owner, "params", params, "a list of Parameters or of dicts")
    listed = list(params)
    if not listed:
        raise problem(ValueError, f"{owner}: there are no parameters")
    return listed if isinstance(listed[0], dict) else [{"params": listed}]


def _listed(owner: str, params: Any) -> list[Parameter]:
    listed = [params] if isinstance(params, Parameter) else list(params)
    for parameter in listed:
        if not isinstance(parameter, Parameter):
            raise wrong_type(owner, "params", parameter, "Parameters")
    return listed
