"""The memory that a plan needs per device: persistent bytes and peak activations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mycelia._engine.compiler.sharding.cost_model import CostModel
from mycelia._engine.compiler.sharding.insert_resharding import Placements
from mycelia._engine.compiler.sharding.problem import (
    InstanceOutput,
    OperatorInstance,
    ShardingProblem,
)


def memory_bytes(problem: ShardingProblem, placements: Placements, prices: CostModel) -> int:
    """Peak bytes per device: persistent inputs and intermediate results."""
    stays = sum(
        prices.bytes(instance.output_types[0], placements.outputs(instance)[0])
        for instance in problem.inputs
    )
    return stays + activation_bytes(problem, placements, prices)


def activation_bytes(problem: ShardingProblem, placements: Placements, prices: CostModel) -> int:
    """Peak bytes of intermediate results.

    The new value of an input overwrites the old one.
    """
    in_place = {id(leaf) for instance in problem.inputs for leaf, _ in instance.returns}
    kept = {id(leaf) for leaf in problem.results if isinstance(leaf, InstanceOutput)}
    sizes: dict[int, int] = {}
    for instance in problem.instances:
        for leaf in instance.outputs:
            is_new = not instance.is_input and id(leaf) not in in_place
            sizes[id(leaf)] = prices.bytes(leaf.type, placements.of(leaf)) if is_new else 0
    readers = _readers(problem.instances)
    left = {tensor: len(reading) for tensor, reading in readers.items()}
    alive = most = 0
    for instance in _likely_order(problem.instances, readers, sizes):
        alive += sum(sizes[id(leaf)] for leaf in instance.outputs)
        most = max(most, alive)
        for tensor in _read_by(instance):
            left[tensor] -= 1
            if left[tensor] == 0 and tensor not in kept:
                alive -= sizes[tensor]
        alive -= sum(
            sizes[id(leaf)]
            for leaf in instance.outputs
            if id(leaf) not in readers and id(leaf) not in kept
        )
    return most


def _likely_order(
    instances: Sequence[OperatorInstance],
    readers: dict[int, list[OperatorInstance]],
    sizes: dict[int, int],
) -> Iterator[OperatorInstance]:
    """A likely execution order: operators that reduce memory run as early as possible.

    In graph order, gradients of weights would come last and keep their inputs alive until then.
    """
    missing = {id(instance): len(_read_by(instance)) for instance in instances}
    done: set[int] = set()
    for first in instances:
        stack = [first] if id(first) not in done else []
        while stack:
            instance = stack.pop()
            if id(instance) in done:
                continue
            done.add(id(instance))
            yield instance
            for leaf in instance.outputs:
                for reader in readers.get(id(leaf), ()):
                    missing[id(reader)] -= 1
                    if missing[id(reader)] == 0 and _shrinks(reader, sizes):
                        stack.append(reader)


def _shrinks(instance: OperatorInstance, sizes: dict[int, int]) -> bool:
    """Whether an operator's results are smaller than its largest input."""
    given = max((sizes[leaf] for leaf in _read_by(instance)), default=0)
    return 0 < sum(sizes[id(leaf)] for leaf in instance.outputs) < given


def _readers(instances: Sequence[OperatorInstance]) -> dict[int, list[OperatorInstance]]:
    found: dict[int, list[OperatorInstance]] = {}
    for instance in instances:
        for leaf in _read_by(instance):
            found.setdefault(leaf, []).append(instance)
    return found


def _read_by(instance: OperatorInstance) -> set[int]:
    """The tensors that an operator reads, without duplicates."""
    return {id(leaf) for leaf in instance.inputs if leaf is not None}
