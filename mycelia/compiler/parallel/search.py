"""The searches: one table solved at once, one mesh axis after another, or exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Protocol

from mycelia.compiler.parallel.choices import Table, tabulate
from mycelia.compiler.parallel.elimination import eliminate
from mycelia.compiler.parallel.pricing import Prices
from mycelia.compiler.parallel.problem import Work
from mycelia.compiler.parallel.strategies import Limits, Strategy, extensions, strategies
from mycelia.parallel.mesh import Mesh


@dataclass(frozen=True)
class Found:
    """Strategies for all works, and what they cost by the table they were chosen from."""

    chosen: dict[Work, Strategy]
    cost: float


def dynamic(works: Sequence[Work], limits: Limits, prices: Prices, *, shared: bool = True) -> Found:
    """Dynamic programming over all strategies of all works."""
    table = full_table(works, limits, prices, shared=shared)
    chosen = eliminate(table.choices)
    return Found(table.strategies(chosen), table.choices.total(chosen))


def exact(works: Sequence[Work], limits: Limits, prices: Prices, *, shared: bool = True) -> Found:
    """The optimum, by an integer program; its solver is loaded only now."""
    table = full_table(works, limits, prices, shared=shared)
    found = import_module("mycelia.compiler.parallel.integer").solve(table.choices)
    return Found(table.strategies(found.chosen), found.cost)


def recursive(
    works: Sequence[Work], limits: Limits, prices: Prices, *, shared: bool = True
) -> Found:
    """One mesh axis after another: each divides what the ones before left.

    Devices are halved (or cut by another prime) again and again, as in double recursion, so the
    time grows with the logarithm of their number.
    """
    now = {work: Strategy(((),) * len(work.axes)) for work in works}
    cost = 0.0
    for axis in prices.mesh.axes:
        allowed = partial(_further, now, axis, prices.mesh, limits)
        told_apart = {work: (now[work], limits.identity(work)) for work in works}
        table = tabulate(works, allowed, prices, told_apart, shared=shared)
        chosen = eliminate(table.choices)
        now, cost = table.strategies(chosen), table.choices.total(chosen)
    return Found(now, cost)


def _further(
    now: Mapping[Work, Strategy], axis: int, mesh: Mesh, limits: Limits, work: Work
) -> list[Strategy]:
    return extensions(work, now[work], axis, mesh, limits)


def full_table(works: Sequence[Work], limits: Limits, prices: Prices, *, shared: bool) -> Table:
    """All strategies of all works."""
    return tabulate(
        works,
        lambda work: strategies(work, prices.mesh, limits),
        prices,
        {work: limits.identity(work) for work in works},
        shared=shared,
    )


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
