"""Assigning parameters to communication groups, and to the groups of an optimizer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.tensor.parameter import Parameter


class ParameterProcess:
    """Numbers parameters by communication group, and finds their optimizer groups."""

    def __init__(self) -> None:
        self._part = 1

    def assign_parameter_group(self, parameters: Any, split_point: Any = None) -> Any:
        """Number the parts of `parameters` in `comm_fusion`; returns the same parameters.

        A new part begins at each index in `split_point`, by default in the middle. The first part
        continues with the last number of the previous call.
        """
        if not parameters:
            return parameters
        starts = set(split_point or [len(parameters) // 2])
        for index, parameter in enumerate(parameters):
            self._part += index in starts
            parameter.comm_fusion = self._part
        return parameters

    @staticmethod
    def generate_group_params(parameters: Any, origin_params: Any) -> list[dict[str, Any]]:
        """Sort `parameters` by name into the groups of `origin_params`.

        Parameters that are in no group form a last group, with the first settings found in the
        groups.
        """
        groups = list(origin_params or ())
        if not groups:
            raise problem(
                ValueError,
                "generate_group_params: origin_params is empty",
                fix="pass the parameters or the groups of the optimizer",
            )
        if isinstance(groups[0], Parameter):
            return [{"params": list(parameters)}]
        _check_groups(groups)
        return _sorted_into(groups, list(parameters))


def without_empty(groups: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The groups with parameters, and the one with their order."""
    return [group for group in groups if group.get("params", True)]


def _check_groups(groups: list[Any]) -> None:
    for group in groups:
        if not isinstance(group, dict):
            raise problem(
                TypeError,
                "generate_group_params: 'origin_params' must be Parameters, or dicts of groups",
                got=f"an element of type {type(group).__name__}",
            )


def _sorted_into(groups: list[dict[str, Any]], parameters: list[Any]) -> list[dict[str, Any]]:
    known: set[str] = set()
    sorted_groups: list[dict[str, Any]] = []
    for group in groups:
        if "order_params" in group:
            sorted_groups.append({"order_params": parameters})
            continue
        names = {parameter.name for parameter in group["params"]}
        known |= names
        members = [parameter for parameter in parameters if parameter.name in names]
        sorted_groups.append({"params": members, **_settings_of(group)})
    rest = [parameter for parameter in parameters if parameter.name not in known]
    if rest:
        sorted_groups.append({"params": rest, **_first_settings(groups)})
    return sorted_groups


def _settings_of(group: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in group.items() if key not in ("params", "order_params")}


def _first_settings(groups: list[dict[str, Any]]) -> dict[str, Any]:
    return next(filter(None, map(_settings_of, groups)), {})
