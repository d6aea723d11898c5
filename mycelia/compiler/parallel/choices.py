"""The search as a table: variables with options, what each option costs, what each pair costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelia.compiler.parallel.classes import classes
from mycelia.compiler.parallel.pricing import Prices
from mycelia.compiler.parallel.problem import Work
from mycelia.compiler.parallel.strategies import Strategy
from mycelia.ir.types import TensorType
from mycelia.parallel.mesh import Placement


@dataclass(eq=False)
class Choices:
    """One option is to be chosen for each variable so that the sum of all costs is least.

    `links[i, j]`, with i < j, is a table of the options of i by those of j.
    """

    costs: list[np.ndarray]
    links: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)

    def link(self, one: int, other: int, table: np.ndarray) -> None:
        """Add what pairs of options cost; of a variable with itself, only equal options count."""
        if one == other:
            self.costs[one] = self.costs[one] + np.diagonal(table)
            return
        key, table = ((one, other), table) if one < other else ((other, one), table.T)
        self.links[key] = self.links[key] + table if key in self.links else table

    def total(self, chosen: Sequence[int]) -> float:
        own = sum(float(cost[c]) for cost, c in zip(self.costs, chosen, strict=True))
        pairs = sum(float(table[chosen[i], chosen[j]]) for (i, j), table in self.links.items())
        return own + pairs


@dataclass(eq=False)
class Options:
    """The strategies of one class of works, and the placements each stands for."""

    work: Work
    strategies: list[Strategy]

    def __post_init__(self) -> None:
        self._inputs = [s.inputs(self.work) for s in self.strategies]
        self._outputs = [s.outputs(self.work) for s in self.strategies]

    def inputs(self, place: int) -> list[Placement]:
        return [placements[place] for placements in self._inputs]

    def outputs(self, place: int) -> list[Placement]:
        return [placements[place] for placements in self._outputs]


@dataclass(eq=False)
class Table:
    """Choices for classes of works, and the way back to works."""

    choices: Choices
    options: list[Options]
    variable: dict[Work, int]

    def strategies(self, chosen: Sequence[int]) -> dict[Work, Strategy]:
        return {w: self.options[v].strategies[chosen[v]] for w, v in self.variable.items()}


def tabulate(
    works: Sequence[Work],
    allowed: Callable[[Work], list[Strategy]],
    prices: Prices,
    told_apart: Mapping[Work, Any],
    *,
    shared: bool = True,
) -> Table:
    """The choices of all works; those that are alike share one, if `shared`."""
    numbers = classes(works, told_apart) if shared else list(range(len(works)))
    variable = dict(zip(works, numbers, strict=True))
    first: dict[int, Work] = {}
    for work, number in variable.items():
        first.setdefault(number, work)
    options = [Options(first[n], allowed(first[n])) for n in range(len(first))]
    count = Counter(numbers)
    choices = Choices(
        [
            np.array([count[n] * prices.work(o.work, s) for s in o.strategies])
            for n, o in enumerate(options)
        ]
    )
    for (source, result, user, place, type_), times in _uses(works, variable).items():
        old = options[source].outputs(result)
        new = options[user].inputs(place) if place >= 0 else options[user].outputs(0)
        choices.link(source, user, times * prices.moves(type_, old, new))
    return Table(choices, options, variable)


Use = tuple[int, int, int, int, TensorType]


def _uses(works: Sequence[Work], variable: Mapping[Work, int]) -> Counter[Use]:
    """How often a result of one class goes to an input of another; place -1: it returns there."""
    found: Counter[Use] = Counter()
    for work in works:
        user = variable[work]
        for place, leaf in enumerate(work.inputs):
            if leaf is not None:
                found[variable[leaf.source], leaf.place, user, place, leaf.type] += work.times
        for leaf, times in work.returns:
            found[variable[leaf.source], leaf.place, user, -1, leaf.type] += times
    return found
