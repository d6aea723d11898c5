"""The search algorithms: dynamic, recursive, and integer programming."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Protocol

from mycelia._engine.compiler.sharding.cost_model import CostModel
from mycelia._engine.compiler.sharding.cost_table import CostTable, OperatorGroups, build_cost_table
from mycelia._engine.compiler.sharding.exact_elimination import eliminate
from mycelia._engine.compiler.sharding.problem import OperatorInstance
from mycelia._engine.compiler.sharding.strategies import (
    SearchConstraints,
    Strategy,
    extensions,
    strategies,
)
from mycelia._engine.core.lazy_import import LazyModule
from mycelia._engine.distributed.mesh import Mesh

if TYPE_CHECKING:
    from mycelia._engine.compiler.sharding import integer_program
else:  # it needs scipy
    integer_program = LazyModule("mycelia._engine.compiler.sharding.integer_program")

SWEEPS = 4  # rounds of the recursive search over all mesh axes
PAIRED = 4  # up to this many mesh axes, pairs of axes are decided together


@dataclass(frozen=True)
class SearchResult:
    """Strategies for all operator instances, and their cost in the table they were chosen from."""

    chosen: dict[OperatorInstance, Strategy]
    cost: float


def dynamic_programming(
    instances: Sequence[OperatorInstance],
    limits: SearchConstraints,
    prices: CostModel,
    *,
    shared: bool = True,
) -> SearchResult:
    """Dynamic programming over all strategies of all operator instances."""
    table = full_table(instances, limits, prices, shared=shared)
    chosen = eliminate(table.choices)
    return _found(table.groups, table.strategies(chosen), table.choices.total(chosen))


def integer_programming(
    instances: Sequence[OperatorInstance],
    limits: SearchConstraints,
    prices: CostModel,
    *,
    shared: bool = True,
) -> SearchResult:
    """The optimum, by an integer program; the solver is imported on first use."""
    table = full_table(instances, limits, prices, shared=shared)
    found = integer_program.solve_integer_program(table.choices)
    return _found(table.groups, table.strategies(found.chosen), found.cost)


def recursive_programming(
    instances: Sequence[OperatorInstance],
    limits: SearchConstraints,
    prices: CostModel,
    *,
    shared: bool = True,
) -> SearchResult:
    """Decide one mesh axis after another: each splits the shards that the previous ones left.

    Devices are halved (or divided by another prime) recursively, as in double recursion, so the
    time grows with the logarithm of their number. Then each axis (or pair of axes, if there are
    few) is decided again with the others fixed, as long as the total cost decreases.
    """
    groups = _groups(instances, limits, shared)
    now = [Strategy(((),) * len(instance.axes)) for instance in groups.first]
    cost, axes = inf, prices.mesh.axes
    first = [((axis,), axes[: place + 1]) for place, axis in enumerate(axes)]
    together = 2 if len(axes) <= PAIRED else 1
    again = [(block, axes) for block in combinations(axes, min(together, len(axes)))]
    for sweep in range(SWEEPS):
        before = cost
        for block, known in again if sweep else first:
            allowed = partial(_further, groups, now, block, known, prices.mesh, limits)
            table = build_cost_table(groups, allowed, prices)
            chosen = eliminate(table.choices)
            total = table.choices.total(chosen)
            if sweep == 0 or total < cost:
                now, cost = table.strategies(chosen), total
        if cost > before * (1 - 1e-3):
            break
    return _found(groups, now, cost)


def _further(
    groups: OperatorGroups,
    now: Sequence[Strategy],
    block: Sequence[int],
    known: Collection[int],
    mesh: Mesh,
    limits: SearchConstraints,
    number: int,
) -> list[Strategy]:
    """The strategies that extend the current one by some mesh axes."""
    found, instance = [now[number]], groups.first[number]
    for axis in block:
        found = [s for base in found for s in extensions(instance, base, axis, known, mesh, limits)]
    return list(dict.fromkeys(found))


def full_table(
    instances: Sequence[OperatorInstance],
    limits: SearchConstraints,
    prices: CostModel,
    *,
    shared: bool,
) -> CostTable:
    """The cost table with all strategies of all operator instances."""
    groups = _groups(instances, limits, shared)
    return build_cost_table(
        groups, lambda n: strategies(groups.first[n], prices.mesh, limits), prices
    )


def _groups(
    instances: Sequence[OperatorInstance], limits: SearchConstraints, shared: bool
) -> OperatorGroups:
    distinguished = {instance: limits.identity(instance) for instance in instances}
    return OperatorGroups.of(instances, distinguished, shared=shared)


def _found(groups: OperatorGroups, strategies_: Sequence[Strategy], cost: float) -> SearchResult:
    return SearchResult({instance: strategies_[n] for instance, n in groups.variable.items()}, cost)


class SearchAlgorithm(Protocol):
    """The signature of a search algorithm."""

    def __call__(
        self,
        instances: Sequence[OperatorInstance],
        limits: SearchConstraints,
        prices: CostModel,
        *,
        shared: bool = True,
    ) -> SearchResult: ...


SEARCHES: dict[str, SearchAlgorithm] = {
    "dynamic_programming": dynamic_programming,
    "recursive_programming": recursive_programming,
    "sharding_propagation": dynamic_programming,
    "exact": integer_programming,
}
