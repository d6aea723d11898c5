"""Recreating an optimizer for other parameters, with its original arguments."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.nn.optim.lars import LARS
from mycelia.nn.optim.optimizer import Optimizer
from mycelia.tensor.parameter import Parameter

_REPLACED = ("params", "learning_rate")
_VARIABLE = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)

# Arguments that are initial values of states, with the names of these states.
_START_OF = {"accum": "accum", "initial_accum": "moments"}


def remade(optimizer: Optimizer, params: Any, learning_rate: Any) -> Any:
    """An optimizer like `optimizer`, at its first step, for `params` and `learning_rate`."""
    kind: Any = type(optimizer)
    return kind(params=params, learning_rate=learning_rate, **arguments_of(optimizer))


def remade_lars(lars: LARS, optimizer: Optimizer) -> LARS:
    """A LARS like `lars` around another optimizer; scales the parameters of the same names."""
    names = [parameter.name for parameter in lars.parameters]
    scaled = dict(zip(names, lars.lars_flag, strict=True))
    return LARS(
        optimizer,
        epsilon=lars.update.epsilon / lars.loss_scale,
        coefficient=lars.update.coefficient / lars.loss_scale,
        use_clip=lars.use_clip,
        lars_filter=lambda parameter: scaled.get(parameter.name, False),
    )


def arguments_of(optimizer: Optimizer) -> dict[str, Any]:
    """The arguments of an optimizer by name, without parameters and learning rate."""
    wanted = inspect.signature(type(optimizer)).parameters.values()
    return {
        argument.name: _read_back(optimizer, argument.name)
        for argument in wanted
        if argument.name not in _REPLACED and argument.kind not in _VARIABLE
    }


def groups_of(optimizer: Optimizer, decaying: Optimizer) -> list[Any]:
    """The parameters of an optimizer, or its parameter groups.

    `decaying` applies the weight decay: the optimizer itself, or the LARS around it.
    """
    if not optimizer.is_group:
        return list(optimizer.parameters)
    groups: dict[Any, dict[str, Any]] = {}
    rates, centered = optimizer._rate_of.values(), optimizer._centralize
    each = zip(optimizer.parameters, rates, decaying._decays, centered, strict=True)
    for parameter, rate, decay, centralize in each:
        key = id(rate), decay if isinstance(decay, float) else id(decay), centralize
        settings: dict[str, Any] = {"params": [], "weight_decay": decay}
        if optimizer.is_group_lr:
            settings["lr"] = rate
        if centralize:
            settings["grad_centralization"] = True
        groups.setdefault(key, settings)["params"].append(parameter)
    return [*groups.values(), {"order_params": list(optimizer.parameters)}]


def rate_of(optimizer: Optimizer) -> Any:
    """The default learning rate: a number, a list, or a schedule."""
    rate = next(iter(optimizer._rate_of.values()))
    return rate.asnumpy().item() if isinstance(rate, Parameter) and not rate.ndim else rate


def _read_back(optimizer: Optimizer, name: str) -> Any:
    if name == "weight_decay":
        return _decay(optimizer)
    if name in _START_OF:
        return _start(optimizer, name)
    if not hasattr(optimizer, name):
        raise problem(
            RuntimeError,
            f"{type(optimizer).__name__} does not store its argument {name!r}",
            fix=f"set self.{name} in its __init__, so that it can be recreated",
        )
    value = getattr(optimizer, name)
    return value.asnumpy().item() if isinstance(value, Parameter) else value


def _decay(optimizer: Optimizer) -> Any:
    """The weight decay of all parameters; groups have their own."""
    shown = optimizer.weight_decay
    if isinstance(shown, tuple):
        return 0.0
    return shown if isinstance(shown, Cell) else float(shown.asnumpy()) / optimizer.loss_scale


def _start(optimizer: Optimizer, name: str) -> float:
    """The initial value of a state, read from the state before the first step."""
    state = getattr(optimizer, _START_OF[name])[0]
    values = np.unique(state.asnumpy())
    if int(optimizer.global_step.asnumpy().item()) or values.size != 1:
        raise problem(
            RuntimeError,
            f"{type(optimizer).__name__} was trained, so its argument {name!r} is unknown",
            fix="boost a new optimizer",
        )
    return float(values[0])
