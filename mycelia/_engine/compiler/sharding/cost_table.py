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

    instance: OperatorInstance
    strategies: list[Strategy]

    def __post_init__(self) -> None:
        self._inputs = [s.inputs(self.instance) for s in self.strategies]
        self._outputs = [s.outputs(self.instance) for s in self.strategies]

    def inputs(self, index: int) -> list[Placement]:
        return [placements[index] for placements in self._inputs]

    def outputs(self, index: int) -> list[Placement]:
        return [placements[index] for placements in self._outputs]


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
        instances: Sequence[OperatorInstance],
        distinguished: Mapping[OperatorInstance, Any],
        *,
        shared: bool = True,
    ) -> OperatorGroups:
        """Group isomorphic operator instances, if `shared`."""
        numbers = (
            isomorphism_classes(instances, distinguished) if shared else list(range(len(instances)))
        )
        variable = dict(zip(instances, numbers, strict=True))
        first: dict[int, OperatorInstance] = {}
        for instance, number in variable.items():
            first.setdefault(number, instance)
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
    options = [
        StrategyOptions(instance, allowed(number)) for number, instance in enumerate(groups.first)
    ]
    choices = CostGraph(
        [
            np.array([count * prices.seconds(o.instance, s) for s in o.strategies])
            for o, count in zip(options, groups.count, strict=True)
        ]
    )
    for (source, result, user, index, type_, alone), times in groups.uses.items():
        old = options[source].outputs(result)
        new = options[user].inputs(index) if index >= 0 else options[user].outputs(0)
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
    each = [
        [prices.saved(source.instance, s, result, p) for p in wanted] for s in source.strategies
    ]
    return np.array(each)[:, [wanted.index(p) for p in new]]


def _uses(variable: Mapping[OperatorInstance, int]) -> Counter[Use]:
    """Count the edges between groups; input index -1 means that the result returns there."""
    found: Counter[Use] = Counter()
    readers = count_readers(variable)
    for instance, user in variable.items():
        for index, leaf in enumerate(instance.inputs):
            if leaf is not None:
                alone = readers[id(leaf)] == 1
                source = variable[leaf.source], leaf.index
                found[(*source, user, index, leaf.type, alone)] += instance.times
        for leaf, times in instance.returns:
            found[variable[leaf.source], leaf.index, user, -1, leaf.type, False] += times
    return found


def count_readers(instances: Iterable[OperatorInstance]) -> Counter[int]:
    """Count the readers of each tensor, by its id, including inputs of the next run."""
    found: Counter[int] = Counter()
    for instance in instances:
        found.update([id(leaf) for leaf in instance.inputs if leaf is not None])
        found.update([id(leaf) for leaf, _ in instance.returns])
    return found
