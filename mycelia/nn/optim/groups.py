"""Parameter groups: the learning rate, weight decay, and centralization of each parameter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mycelia._engine.core.checks import check_non_negative_float
from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.nn.optim.learning_rates import ListedRate, Rate, make_rate
from mycelia.tensor.parameter import Parameter

KEYS = ("params", "lr", "weight_decay", "order_params", "grad_centralization")
Decay = float | Cell


@dataclass(frozen=True)
class ParameterUpdateOptions:
    """How to update one parameter."""

    parameter: Parameter
    rate: Rate
    decay: Decay
    centralize: bool


@dataclass(frozen=True)
class ParameterGroups:
    """The settings of all parameters, in the order of their gradients."""

    settings: tuple[ParameterUpdateOptions, ...]
    grouped: bool = False
    grouped_rates: bool = False
    ordered: bool = False


def parameter_groups(
    owner: str, parameters: Any, learning_rate: Any, weight_decay: Any
) -> ParameterGroups:
    """Parse an optimizer's `params` argument: parameters, or dicts that describe groups."""
    members = _members(owner, parameters)
    rate = make_rate(owner, learning_rate, "learning_rate")
    decay = checked_decay(owner, weight_decay)
    if isinstance(members[0], dict):
        return _grouped(owner, members, rate, decay)
    names = [parameter.name for parameter in members]
    for name in names:
        if names.count(name) > 1:
            raise problem(
                ValueError,
                f"For '{owner}', two parameters have the name {name!r}",
                fix="pass each parameter once, and give each a unique name",
            )
    return ParameterGroups(
        tuple(ParameterUpdateOptions(parameter, rate, decay, False) for parameter in members)
    )


def checked_decay(owner: str, value: Any) -> Decay:
    """A weight decay: a non-negative number, or a cell that is called with the step number."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, (int, float)):
        return check_non_negative_float(owner, "weight_decay", float(value))
    raise problem(
        TypeError,
        f"For '{owner}', the 'weight_decay' has a wrong type",
        got=f"{value!r} of type {type(value).__name__}",
        expected="int, float or Cell",
    )


def _members(owner: str, parameters: Any) -> list[Any]:
    if parameters is None:
        raise problem(ValueError, f"For '{owner}', the parameters are None")
    if isinstance(parameters, Cell):
        raise problem(
            TypeError,
            f"For '{owner}', the parameters must be a list, not a network",
            got=f"a {type(parameters).__name__}",
            fix="pass net.trainable_params()",
        )
    if not isinstance(parameters, Iterable):
        raise problem(
            TypeError,
            f"For '{owner}', the parameters must be iterable",
            got=type(parameters).__name__,
            fix="pass net.trainable_params()",
        )
    members = list(parameters)
    if not members:
        raise problem(
            ValueError,
            f"For '{owner}', there are no parameters to update",
            fix="pass net.trainable_params() of a network with parameters",
        )
    kind = dict if isinstance(members[0], dict) else Parameter
    for member in members:
        if not isinstance(member, kind):
            raise problem(
                TypeError,
                f"For '{owner}', the parameters must be all Parameters or all dicts",
                got=f"an element of type {type(member).__name__}",
            )
    return members


def _grouped(owner: str, groups: list[dict[str, Any]], rate: Rate, decay: Decay) -> ParameterGroups:
    order: list[Parameter] | None = None
    settings: dict[int, ParameterUpdateOptions] = {}
    for index, group in enumerate(groups):
        _check_keys(owner, group)
        if "order_params" in group:
            order = list(group["order_params"])
            continue
        for setting in _settings(owner, group, f"learning_rate_group_{index}", rate, decay):
            if id(setting.parameter) in settings:
                raise problem(
                    RuntimeError,
                    f"For '{owner}', the parameter {setting.parameter.name!r} is in two groups",
                )
            settings[id(setting.parameter)] = setting
    _check_lengths(owner, [rate, *(setting.rate for setting in settings.values())])
    if order is not None:
        settings = _reordered(owner, settings, order)
    has_rates = any("lr" in group for group in groups)
    return ParameterGroups(tuple(settings.values()), True, has_rates, order is not None)


def _settings(
    owner: str, group: dict[str, Any], name: str, rate: Rate, decay: Decay
) -> list[ParameterUpdateOptions]:
    """The settings of the parameters of one group."""
    if "params" not in group:
        raise problem(KeyError, f"For '{owner}', a group has no 'params'", got=str(sorted(group)))
    parameters = list(group["params"])
    if not parameters:
        raise problem(ValueError, f"For '{owner}', the 'params' of a group are empty")
    for parameter in parameters:
        if not isinstance(parameter, Parameter):
            raise problem(
                TypeError,
                f"For '{owner}', the 'params' of a group must be Parameters",
                got=type(parameter).__name__,
            )
    if "lr" in group:
        rate = make_rate(owner, group["lr"], name)
    if "weight_decay" in group:
        decay = checked_decay(owner, group["weight_decay"])
    centralize = group.get("grad_centralization", False)
    if not isinstance(centralize, bool):
        raise problem(
            TypeError,
            f"For '{owner}', the 'grad_centralization' of a group must be bool",
            got=type(centralize).__name__,
        )
    return [ParameterUpdateOptions(parameter, rate, decay, centralize) for parameter in parameters]


def _check_keys(owner: str, group: dict[str, Any]) -> None:
    unknown = [key for key in group if key not in KEYS]
    if unknown:
        raise problem(
            KeyError,
            f"For '{owner}', a group has unknown keys",
            got=str(unknown),
            expected=f"keys among {', '.join(KEYS)}",
        )
    if "order_params" in group and len(group) > 1:
        raise problem(
            ValueError,
            f"For '{owner}', the dict with 'order_params' must have no other key",
            got=str(list(group)),
        )


def _check_lengths(owner: str, rates: list[Rate]) -> None:
    lengths = {rate.length for rate in rates if isinstance(rate, ListedRate)}
    if len(lengths) > 1:
        raise problem(
            ValueError,
            f"For '{owner}', the lists of learning rates differ in length",
            got=f"lengths {sorted(lengths)}",
            expected="one rate for each step in every list",
        )


def _reordered(
    owner: str, settings: dict[int, ParameterUpdateOptions], order: list[Parameter]
) -> dict[int, ParameterUpdateOptions]:
    wanted = [id(parameter) for parameter in order]
    if sorted(wanted) != sorted(settings):
        raise problem(
            ValueError,
            f"For '{owner}', 'order_params' must name each parameter of the groups once",
            got=f"{len(order)} parameters in the order, {len(settings)} in the groups",
        )
    return {key: settings[key] for key in wanted}
