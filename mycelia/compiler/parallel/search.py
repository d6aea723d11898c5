"""The searches: one table solved at once, one mesh axis after another, or exactly."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Protocol

from mycelia.compiler.parallel.choices import Groups, Table, tabulate
from mycelia.compiler.parallel.elimination import eliminate
from mycelia.compiler.parallel.pricing import Prices
from mycelia.compiler.parallel.problem import Work
from mycelia.compiler.parallel.strategies import Limits, Strategy, extensions, strategies
from mycelia.core.lazy import LazyModule
from mycelia.parallel.mesh import Mesh

if TYPE_CHECKING:
    from mycelia.compiler.parallel import integer
else:  # it needs scipy
    integer = LazyModule("mycelia.compiler.parallel.integer")

SWEEPS = 4  # of the recursive search over all axes of the mesh
PAIRED = 4  # so many axes of a mesh are few enough to decide two at once


@dataclass(frozen=True)
class Found:
    """Strategies for all works, and what they cost by the table they were chosen from."""

    chosen: dict[Work, Strategy]
    cost: float


def dynamic(works: Sequence[Work], limits: Limits, prices: Prices, *, shared: bool = True) -> Found:
    """Dynamic programming over all strategies of all works."""
    table = full_table(works, limits, prices, shared=shared)
    chosen = eliminate(table.choices)
    return _found(table.groups, table.strategies(chosen), table.choices.total(chosen))


def exact(works: Sequence[Work], limits: Limits, prices: Prices, *, shared: bool = True) -> Found:
    """The optimum, by an integer program; its solver is loaded only now."""
    table = full_table(works, limits, prices, shared=shared)
    found = integer.solve(table.choices)
    return _found(table.groups, table.strategies(found.chosen), found.cost)


def recursive(
    works: Sequence[Work], limits: Limits, prices: Prices, *, shared: bool = True
) -> Found:
    """One mesh axis after another: each divides what the ones before left.

    Devices are halved (or cut by another prime) again and again, as in double recursion, so the
    time grows with the logarithm of their number. Then axes are decided once more, now that the
    others are known (two at once, if there are few), as long as the whole gets cheaper.
    """
    groups = _groups(works, limits, shared)
    now = [Strategy(((),) * len(work.axes)) for work in groups.first]
    cost, axes = inf, prices.mesh.axes
    first = [((axis,), axes[: place + 1]) for place, axis in enumerate(axes)]
    together = 2 if len(axes) <= PAIRED else 1
    again = [(block, axes) for block in combinations(axes, min(together, len(axes)))]
    for sweep in range(SWEEPS):
        before = cost
        for block, known in again if sweep else first:
            allowed = partial(_further, groups, now, block, known, prices.mesh, limits)
            table = tabulate(groups, allowed, prices)
            chosen = eliminate(table.choices)
            total = table.choices.total(chosen)
            if sweep == 0 or total < cost:
                now, cost = table.strategies(chosen), total
        if cost > before * (1 - 1e-3):
            break
    return _found(groups, now, cost)


def _further(
    groups: Groups,
    now: Sequence[Strategy],
    block: Sequence[int],
    known: Collection[int],
    mesh: Mesh,
    limits: Limits,
    number: int,
) -> list[Strategy]:
    """The strategies that some mesh axes can make of the one of the moment."""
    found, work = [now[number]], groups.first[number]
    for axis in block:
        found = [s for base in found for s in extensions(work, base, axis, known, mesh, limits)]
    return list(dict.fromkeys(found))


def full_table(works: Sequence[Work], limits: Limits, prices: Prices, *, shared: bool) -> Table:
    """All strategies of all works."""
    groups = _groups(works, limits, shared)
    return tabulate(groups, lambda n: strategies(groups.first[n], prices.mesh, limits), prices)


def _groups(works: Sequence[Work], limits: Limits, shared: bool) -> Groups:
    told_apart = {work: limits.identity(work) for work in works}
    return Groups.of(works, told_apart, shared=shared)


def _found(groups: Groups, strategies_: Sequence[Strategy], cost: float) -> Found:
    return Found({work: strategies_[n] for work, n in groups.variable.items()}, cost)


class Search(Protocol):
    """A way to search."""

    def __call__(
        self, works: Sequence[Work], limits: Limits, prices: Prices, *, shared: bool = True
    ) -> Found: ...


SEARCHES: dict[str, Search] = {
    "dynamic_programming": dynamic,
    "recursive_programming": recursive,
    "sharding_propagation": dynamic,
    "exact": exact,
}
