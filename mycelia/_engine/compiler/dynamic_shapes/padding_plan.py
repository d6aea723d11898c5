"""Plans: what has to be done with the padding of an operator's arguments."""

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
    """What an operator does with an axis that may be padded."""

    APART = "apart"  # the elements along it never meet: padding stays where it is
    MEETS = "meets"  # they meet in a way that no number leaves alone
    ZERO = "zero"  # right if padding is 0, and so on
    ONE = "one"
    LOWEST = "lowest"
    HIGHEST = "highest"


APART, MEETS, ZERO, ONE, LOWEST, HIGHEST = PaddingRole

Fill = PaddingRole | int  # an int stands for itself
Roles = Any  # one Fill for each axis of a tensor; a tuple of such for a tuple of tensors


@dataclass(frozen=True)
class PaddedOperator:
    """An application of an operator where some argument or result is padded.

    `types`, `axes` and `known` have one entry for each data argument; `known` holds the numbers
    of constants for the real size, None elsewhere.
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

    Where an operator takes a mean, `mean_over` holds the extents in its count. `instead` is an
    operator to apply in place of the given one, and `item` which of its results to take.
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
    """No elements of any argument meet, except where they broadcast."""
    return PaddingPlan(tuple(same_role_everywhere(APART, type_) for type_ in site.types))


def roles_along(type_: Any, roles: Mapping[int, Fill], rest: Fill = MEETS) -> Roles:
    """Roles by the numbers of axes (which may be negative); `rest` for all others."""
    if type_ is None:
        return None
    by_axis = {axis % type_.ndim: role for axis, role in roles.items() if type_.ndim}
    return tuple(by_axis.get(axis, rest) for axis in range(type_.ndim))


def first_axis(*roles: Fill) -> Rule:
    """The first axis of each argument has a role; the others meet."""

    def rule(site: PaddedOperator) -> PaddingPlan:
        given = (*roles, *(MEETS for _ in site.types[len(roles) :]))
        pairs = zip(given, site.types, strict=False)
        return PaddingPlan(tuple(roles_along(type_, {0: role}) for role, type_ in pairs))

    return rule


def require(holds: bool, why: str) -> None:
    """Raise Unprovable unless a condition holds."""
    if not holds:
        raise UnprovablePadding(why)


def all_extents(site: PaddedOperator) -> tuple[DynamicExtent, ...]:
    """The extents of the first argument, all of which a full reduction goes over."""
    return tuple(extents_in(site.axes[0]))
