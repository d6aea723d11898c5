"""Base class of optimizers with parameter groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import is_number
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.nn.atomic_step import AtomicStep
from mycelia.nn.cell import Cell
from mycelia.ops.indexing.assign import assign
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor

Group = dict[str, Any]


class Optimizer(AtomicStep):
    """Base class of optimizers with parameter groups; groups override the default settings.

    The learning rate of a group is a Parameter, so that schedulers can change it without
    recompiling a step. A subclass defines `states`, the state tensors with the shape of each
    parameter, `own_states`, the state tensors of other shapes, and `update`, the step of one
    parameter.
    """

    @entry_point
    def __init__(self, params: Any, defaults: Group) -> None:
        super().__init__(auto_prefix=False)
        given = _checked_params(params)
        self.defaults = dict(defaults)
        self.param_groups: list[Group] = []
        self.parameters = ParameterTuple(())
        self.slots: list[dict[str, Parameter]] = []
        self.state_step = Parameter(Tensor(0.0, dtypes.float32), name="state_step")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters with separate settings."""
        if not isinstance(param_group, dict):
            raise wrong_type("Optimizer", "param_group", param_group, "dict")
        members = param_group.get("params", ())
        members = [members] if isinstance(members, Parameter) else list(members)
        for one in members:
            if not isinstance(one, Parameter):
                raise wrong_type("Optimizer", "params", one, "Parameters")
        if any(one is other for one in members for other in self.parameters):
            raise problem(ValueError, "Optimizer: a parameter is in two groups")
        group = self.defaults | param_group | {"params": members}
        number = len(self.param_groups)
        rate = Tensor(float(group["lr"]), dtypes.float32)
        group["lr"] = Parameter(rate, name=f"learning_rate_group_{number}", requires_grad=False)
        self.insert_param_to_cell(group["lr"].name, group["lr"])
        self.param_groups.append(group)
        self.parameters = ParameterTuple((*self.parameters, *members))
        for name, first in self.states().items():
            fresh = ParameterTuple(members).clone(name, first)
            setattr(self, name, ParameterTuple((*getattr(self, name, ()), *fresh)))
        self.slots = [*self.slots, *(self._slots(one, group) for one in members)]

    def _slots(self, parameter: Parameter, group: Group) -> dict[str, Parameter]:
        slots = {}
        for name, first in self.own_states(parameter, group).items():
            slot = Parameter(first, name=f"{name}.{parameter.name}", requires_grad=False)
            self.insert_param_to_cell(slot.name, slot, check_name_contain_dot=False)
            slots[name] = slot
        return slots

    def states(self) -> dict[str, Any]:
        """State tensors of each parameter: their names and initializers."""
        return {}

    def own_states(self, parameter: Parameter, group: Group) -> dict[str, Tensor]:
        """State tensors specific to this parameter: their names and initial values."""
        return {}

    def update(self, index: int, gradient: Any, group: Group, step: Any) -> None:
        """Update the parameter at `index`; `step` counts from 1."""
        raise problem(
            NotImplementedError,
            f"{type(self).__name__} does not define an update",
            fix="define update(self, index, gradient, group, step), or construct(self, gradients)",
        )

    def construct(self, gradients: Any) -> Any:
        gradients = self._checked(gradients)
        step = self.state_step + 1.0
        assign(self.state_step, step)
        index = 0
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = cast(gradients[index], parameter.dtype)
                turned = -gradient if group.get("maximize") else gradient
                self.update(index, turned, group, step)
                index += 1
        return True

    def decayed(self, index: int, gradient: Any, group: Group) -> Any:
        """Gradient with the weight decay of its group added."""
        decay = group["weight_decay"]
        return gradient if decay == 0 else gradient + self.parameters[index] * decay

    def keep(self, name: str, index: int, value: Any) -> Any:
        """Set the state `name` of one parameter, and return the new value."""
        state = getattr(self, name)[index]
        return assign(state, cast(value, state.dtype))

    def keep_slot(self, name: str, index: int, value: Any) -> Any:
        """Set the parameter-specific state `name`, and return the new value."""
        state = self.slots[index][name]
        return assign(state, cast(value, state.dtype))

    def move(self, index: int, change: Any) -> None:
        """Add `change` to one parameter."""
        parameter = self.parameters[index]
        assign(parameter, cast(parameter + change, parameter.dtype))

    def _checked(self, gradients: Any) -> Any:
        if not isinstance(gradients, (tuple, list)):
            raise wrong_type(type(self).__name__, "gradients", gradients, "tuple of Tensors")
        if len(gradients) != len(self.parameters):
            raise problem(
                ValueError,
                f"{type(self).__name__}: there must be one gradient for each parameter",
                got=f"{len(gradients)} gradients for {len(self.parameters)} parameters",
            )
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            if parameter.shape != gradient.shape:
                raise problem(
                    ValueError,
                    f"{type(self).__name__}: a gradient has the shape of another parameter",
                    got=f"{gradient.shape} for {parameter.name}",
                    expected=f"{parameter.shape}",
                )
        return gradients

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            shown = {k: v for k, v in sorted(group.items()) if k != "params"}
            shown = {k: f"{float(v):g}" if k == "lr" else v for k, v in shown.items()}
            lines += [f"    {name}: {value}" for name, value in shown.items()]
        return "\n".join([*lines, ")"])


def zeros_beside(parameter: Parameter, shape: tuple[int, ...] | None = None) -> Tensor:
    """Zeros with a parameter's shape, or another, in its dtype, but float32 for half precision."""
    kind = np.float64 if parameter.dtype == dtypes.float64 else np.float32
    return Tensor(np.zeros(parameter.shape if shape is None else shape, kind))


def check_rate(owner: str, lr: Any) -> None:
    """Raise unless `lr` is a learning rate: a non-negative number, or a Tensor of one."""
    if not (is_number(lr) or isinstance(lr, Tensor)):
        raise wrong_type(owner, "lr", lr, "a number or a Tensor of one")
    check_at_least("learning rate", lr, 0.0)


def check_at_least(what: str, value: Any, low: float) -> None:
    """Raise unless a setting is a number of at least `low`."""
    if not (is_number(value) or isinstance(value, Tensor)):
        raise wrong_type("Optimizer", what, value, "float")
    if float(value) < low:
        raise problem(
            ValueError, f"Invalid {what}: {value}", expected=f"a number of at least {low}"
        )


def check_betas(betas: Any) -> None:
    """Raise unless both betas are in [0, 1)."""
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise wrong_type("Optimizer", "betas", betas, "a tuple of two floats")
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise problem(ValueError, f"Invalid beta parameter at index {index}: {beta}")


def _checked_params(params: Any) -> list[Any]:
    if isinstance(params, Cell):
        raise problem(
            TypeError,
            "Optimizer: the parameters must be a list, not a network",
            got=f"a {type(params).__name__}",
            fix="pass net.trainable_params()",
        )
    if isinstance(params, (Parameter, str, dict)) or not isinstance(params, Iterable):
        raise wrong_type("Optimizer", "params", params, "a list of Parameters, or of groups")
    given = list(params)
    if not given:
        raise problem(ValueError, "Optimizer: there are no parameters to update")
    for one in given:
        if not isinstance(one, type(given[0]) if isinstance(given[0], dict) else Parameter):
            raise wrong_type("Optimizer", "params", one, "Parameters, or dicts with 'params'")
    return given
