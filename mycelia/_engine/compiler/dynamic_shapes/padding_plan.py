"""Padding plans: how the padding of an operator's arguments must be filled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from mycelia._engine.compiler.dynamic_shapes.dynamic_axes import (
    Axes,
    DynamicExtent,
    DynamicSizes,
    UnprovablePadding,
    extents_in,
)
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.types import TensorType


class PaddingRole(Enum):
    """How an operator treats an axis that may be padded."""

    APART = "apart"  # elements along it are independent: padding stays in place
    MEETS = "meets"  # elements are combined, and no fill value is neutral
    ZERO = "zero"  # correct if padding is 0, and so on
    ONE = "one"
    LOWEST = "lowest"
    HIGHEST = "highest"


APART, MEETS, ZERO, ONE, LOWEST, HIGHEST = PaddingRole

Fill = PaddingRole | int  # an int is the fill value itself
Roles = Any  # one Fill for each axis of a tensor; a tuple of such for a tuple of tensors


@dataclass(frozen=True)
class PaddedOperator:
    """An application of an operator with padded arguments or results.

    `types`, `axes`, and `known` have one entry for each data argument; `known` holds the values of
    constants for the real size, and None for other arguments.
    """

    op: Any
    types: tuple[Any, ...]
    axes: tuple[Axes, ...]
    known: tuple[np.ndarray | None, ...]
    static: tuple[Any, ...]
    type: Any
    result: Axes
    sizes: DynamicSizes


@dataclass(frozen=True)
class PaddingPlan:
    """A role for each axis of each data argument.

    If an operator computes a mean, `mean_over` holds the extents in its count. `instead` is an
    operator to apply instead of the original, and `item` the index of its result to use.
    """

    roles: tuple[Roles, ...]
    mean_over: tuple[DynamicExtent, ...] = ()
    instead: Primitive | None = None
    item: int | None = None


Rule = Callable[[PaddedOperator], PaddingPlan]


def same_role_everywhere(role: Fill, type_: Any) -> Roles:
    """The same role for all axes of a value."""
    if isinstance(type_, TensorType):
        return (role,) * type_.ndim
    return (
        tuple(same_role_everywhere(role, part) for part in type_)
        if isinstance(type_, tuple)
        else None
    )


def all_independent(site: PaddedOperator) -> PaddingPlan:
    """No elements of any argument are combined, except by broadcasting."""
    return PaddingPlan(tuple(same_role_everywhere(APART, type_) for type_ in site.types))


def roles_along(type_: Any, roles: Mapping[int, Fill], rest: Fill = MEETS) -> Roles:
    """Roles by axis (which may be negative); `rest` for all others."""
    if type_ is None:
        return None
    by_axis = {axis % type_.ndim: role for axis, role in roles.items() if type_.ndim}
    return tuple(by_axis.get(axis, rest) for axis in range(type_.ndim))


def first_axis(*roles: Fill) -> Rule:
    """A role for the first axis of each argument; the others are MEETS."""

    def rule(site: PaddedOperator) -> PaddingPlan:
        padded_roles = (*roles, *(MEETS for _ in site.types[len(roles) :]))
        pairs = zip(padded_roles, site.types, strict=False)
        return PaddingPlan(tuple(roles_along(type_, {0: role}) for role, type_ in pairs))

    return rule


def require(holds: bool, why: str) -> None:
    """Raise UnprovablePadding unless a condition holds."""
    if not holds:
        raise UnprovablePadding(why)


def all_extents(site: PaddedOperator) -> tuple[DynamicExtent, ...]:
    """The extents of the first argument, which a full reduction covers."""
    return tuple(extents_in(site.axes[0]))
