"""Cost tables of the search: variables with options, unary costs, and pairwise costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelia._engine.compiler.sharding.cost_model import CostModel
from mycelia._engine.compiler.sharding.isomorphic_blocks import isomorphism_classes
from mycelia._engine.compiler.sharding.problem import OperatorInstance
from mycelia._engine.compiler.sharding.strategies import Strategy
from mycelia._engine.distributed.mesh import Placement
from mycelia._engine.ir.types import TensorType


@dataclass(eq=False)
class CostGraph:
    """A minimization problem: choose one option per variable at the least total cost.

    `links[i, j]`, with i < j, is the table of pairwise costs: options of i by options of j.
    """

    costs: list[np.ndarray]
    links: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)

    def link(self, one: int, other: int, table: np.ndarray) -> None:
        """Add pairwise costs; between a variable and itself, only the diagonal counts."""
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
class StrategyOptions:
    """The strategies of one group of operator instances, and the placements of each."""

    work: OperatorInstance
    strategies: list[Strategy]

    def __post_init__(self) -> None:
        self._inputs = [s.inputs(self.work) for s in self.strategies]
        self._outputs = [s.outputs(self.work) for s in self.strategies]

    def inputs(self, place: int) -> list[Placement]:
        return [placements[place] for placements in self._inputs]

    def outputs(self, place: int) -> list[Placement]:
        return [placements[place] for placements in self._outputs]


# Source group and result, target group and input, type, whether this is the only reader.
Use = tuple[int, int, int, int, TensorType, bool]


@dataclass(eq=False)
class OperatorGroups:
    """Operator instances that are decided together, and the edges between the groups."""

    variable: dict[OperatorInstance, int]
    first: list[OperatorInstance]  # a representative of each group
    count: list[int]  # the size of each group
    uses: Counter[Use]

    @classmethod
    def of(
        cls,
        works: Sequence[OperatorInstance],
        told_apart: Mapping[OperatorInstance, Any],
        *,
        shared: bool = True,
    ) -> OperatorGroups:
        """Group isomorphic operator instances, if `shared`."""
        numbers = isomorphism_classes(works, told_apart) if shared else list(range(len(works)))
        variable = dict(zip(works, numbers, strict=True))
        first: dict[int, OperatorInstance] = {}
        for work, number in variable.items():
            first.setdefault(number, work)
        count = Counter(numbers)
        order = range(len(first))
        return cls(variable, [first[n] for n in order], [count[n] for n in order], _uses(variable))


@dataclass(eq=False)
class CostTable:
    """A cost graph over groups of operator instances, with the strategies of its options."""

    choices: CostGraph
    options: list[StrategyOptions]
    groups: OperatorGroups

    def strategies(self, chosen: Sequence[int]) -> list[Strategy]:
        """The strategy of each group."""
        return [o.strategies[c] for o, c in zip(self.options, chosen, strict=True)]


def build_cost_table(
    groups: OperatorGroups, allowed: Callable[[int], list[Strategy]], prices: CostModel
) -> CostTable:
    """Build the cost table of all groups; `allowed` returns the strategies of a group."""
    options = [StrategyOptions(work, allowed(number)) for number, work in enumerate(groups.first)]
    choices = CostGraph(
        [
            np.array([count * prices.work(o.work, s) for s in o.strategies])
            for o, count in zip(options, groups.count, strict=True)
        ]
    )
    for (source, result, user, place, type_, alone), times in groups.uses.items():
        old = options[source].outputs(result)
        new = options[user].inputs(place) if place >= 0 else options[user].outputs(0)
        table = prices.moves(type_, old, new)
        if alone and prices.cluster.reduce_scatter:
            table = table - _savings(options[source], result, new, prices)
        choices.link(source, user, times * table)
    return CostTable(choices, options, groups)


def _savings(
    source: StrategyOptions, result: int, new: list[Placement], prices: CostModel
) -> np.ndarray:
    """The savings of a reduce-scatter where the only reader needs a shard, by pairs of options."""
    wanted = list(dict.fromkeys(new))
    each = [[prices.saved(source.work, s, result, p) for p in wanted] for s in source.strategies]
    return np.array(each)[:, [wanted.index(p) for p in new]]


def _uses(variable: Mapping[OperatorInstance, int]) -> Counter[Use]:
    """Count the edges between groups; input index -1 means that the result returns there."""
    found: Counter[Use] = Counter()
    readers = count_readers(variable)
    for work, user in variable.items():
        for place, leaf in enumerate(work.inputs):
            if leaf is not None:
                alone = readers[id(leaf)] == 1
                source = variable[leaf.source], leaf.place
                found[(*source, user, place, leaf.type, alone)] += work.times
        for leaf, times in work.returns:
            found[variable[leaf.source], leaf.place, user, -1, leaf.type, False] += times
    return found


def count_readers(works: Iterable[OperatorInstance]) -> Counter[int]:
    """Count the readers of each tensor, by its id, including inputs of the next run."""
    found: Counter[int] = Counter()
    for work in works:
        found.update([id(leaf) for leaf in work.inputs if leaf is not None])
        found.update([id(leaf) for leaf, _ in work.returns])
    return found
