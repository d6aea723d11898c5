"""The costs of a plan by operator: collectives, bytes, seconds; each resharding counts once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mycelia._engine.compiler.sharding.cost_model import CostModel
from mycelia._engine.compiler.sharding.cost_table import count_readers
from mycelia._engine.compiler.sharding.insert_resharding import Placements
from mycelia._engine.compiler.sharding.problem import (
    InstanceOutput,
    OperatorInstance,
    ShardingProblem,
)
from mycelia._engine.compiler.sharding.strategies import Strategy
from mycelia._engine.distributed.mesh import Placement
from mycelia._engine.distributed.redistribution import RedistributionCollective


@dataclass(frozen=True)
class PlannedCollective:
    """A collective of a plan, with its reason and its number of runs."""

    transfer: RedistributionCollective
    times: int
    why: str


@dataclass(frozen=True)
class OperatorCost:
    """One operator instance: its collectives, and seconds of computation and communication."""

    instance: OperatorInstance
    strategy: Strategy
    movements: tuple[PlannedCollective, ...]
    compute: float
    talk: float


def operator_costs(
    problem: ShardingProblem,
    chosen: dict[OperatorInstance, Strategy],
    placements: Placements,
    prices: CostModel,
) -> list[OperatorCost]:
    """The costs of all operator instances of a plan, in order."""
    moved: set[tuple[int, Placement]] = set()
    found = []
    parts = _wanted_in_parts(problem, chosen, placements, prices)
    for instance in problem.instances:
        strategy = chosen[instance]
        sums = [parts.get((instance, t), t) for t in prices.inner(instance, strategy)]
        movements = [
            PlannedCollective(t, instance.times, "partial results are combined") for t in sums
        ]
        movements += _arrivals(instance, placements, prices, moved)
        talk = sum(m.times * m.transfer.seconds(prices.mesh, prices.cluster) for m in movements)
        compute = 0.0 if instance.is_input else instance.times * prices.compute(instance, strategy)
        found.append(OperatorCost(instance, strategy, tuple(movements), compute, talk))
    return found


def _wanted_in_parts(
    problem: ShardingProblem,
    chosen: dict[OperatorInstance, Strategy],
    placements: Placements,
    prices: CostModel,
) -> dict[tuple[OperatorInstance, RedistributionCollective], RedistributionCollective]:
    """All-reduces whose only reader needs a shard, with the reduce-scatters that replace them."""
    found = {}
    readers = count_readers(problem.instances)
    for instance in problem.instances:
        for leaf, wanted in zip(instance.inputs, placements.inputs(instance), strict=True):
            if leaf is None or readers[id(leaf)] != 1:
                continue
            source, strategy = leaf.source, chosen[leaf.source]
            part = prices.scattered(source, strategy, leaf.index, wanted)
            if part is not None:
                found[source, replace(part, kind="all-reduce")] = part
    return found


def _arrivals(
    instance: OperatorInstance,
    placements: Placements,
    prices: CostModel,
    moved: set[tuple[int, Placement]],
) -> Iterator[PlannedCollective]:
    """The resharding of inputs to what the operator needs, and of returned tensors."""
    wanted: list[tuple[InstanceOutput | None, Placement, int, str]] = [
        (leaf, placement, instance.times, f"input {number}")
        for number, (leaf, placement) in enumerate(
            zip(instance.inputs, placements.inputs(instance), strict=True)
        )
    ]
    wanted += [
        (leaf, placements.outputs(instance)[0], times, "new value")
        for leaf, times in instance.returns
    ]
    for leaf, placement, times, why in wanted:
        if leaf is None or (id(leaf), placement) in moved:
            continue
        moved.add((id(leaf), placement))
        for transfer in prices.transfers(leaf.type, placements.of(leaf), placement):
            yield PlannedCollective(transfer, times, why)
