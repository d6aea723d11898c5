"""The cost model of strategies: computation, communication, and persistent memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mycelia._engine.compiler.sharding.problem import OperatorInstance
from mycelia._engine.compiler.sharding.strategies import Strategy
from mycelia._engine.core.shape import size
from mycelia._engine.distributed.cluster import Cluster
from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.distributed.redistribution import RedistributionCollective, redistribution
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.axes import Axis


@dataclass(eq=False)
class CostModel:
    """Cached costs on one mesh of one cluster.

    `weight` is the cost of a persistent byte per device, in seconds: almost zero, so that it only
    breaks ties between layouts that take the same time, unless memory is short.
    """

    mesh: Mesh
    cluster: Cluster
    weight: float = 1e-15
    _moves: dict[Any, float] = field(default_factory=dict)

    def seconds(self, instance: OperatorInstance, strategy: Strategy) -> float:
        """Seconds of one operator instance without resharding its inputs, over all its runs."""
        if instance.is_input:
            return self.weight * self.bytes(instance.output_types[0], strategy.outputs(instance)[0])
        talk = sum(t.seconds(self.mesh, self.cluster) for t in self.inner(instance, strategy))
        return instance.times * (self.compute(instance, strategy) + talk)

    def compute(self, instance: OperatorInstance, strategy: Strategy) -> float:
        """Seconds of arithmetic or of memory traffic, whichever is longer."""
        if instance.is_edge:
            return 0.0
        arithmetic = instance.flops / self.cluster.flops
        for axis, cut in zip(instance.axes, strategy.cuts, strict=True):
            if cut and instance.flops:
                share = min(axis.flops / instance.flops, 1.0)
                parts = axis.size / -(-axis.size // self.mesh.degree(cut))
                arithmetic *= 1 - share + share / parts
        placed = [*zip(instance.input_types, strategy.inputs(instance), strict=True)]
        placed += zip(instance.output_types, strategy.outputs(instance), strict=True)
        touched = sum(self.bytes(type_, placement) for type_, placement in placed)
        return max(arithmetic, touched / self.cluster.memory_bandwidth)

    def inner(
        self, instance: OperatorInstance, strategy: Strategy
    ) -> list[RedistributionCollective]:
        """The collectives of an operator besides resharding: sums of partial results."""
        sums = [
            self.sum_of(instance, strategy, index) for index in range(len(instance.output_types))
        ]
        found = [transfer for transfer in sums if transfer is not None]
        for axis, cut in zip(instance.axes, strategy.cuts, strict=True):
            if cut and axis.inner:
                others = self.mesh.degree(a for a in strategy.axes if a not in cut)
                found.append(RedistributionCollective("all-reduce", axis.inner / others, cut))
            if cut and axis.divides % self.mesh.degree(cut):
                found += self._shifted(instance, axis, cut)
        return found

    def sum_of(
        self, instance: OperatorInstance, strategy: Strategy, index: int
    ) -> RedistributionCollective | None:
        """The collective that sums the partial values of one result, if it is partial."""
        axes = [
            mesh_axis
            for axis, cut in zip(instance.axes, strategy.cuts, strict=True)
            for mesh_axis in cut
            if any(leaf == index for leaf, _ in axis.combined)
        ]
        if not axes:
            return None
        placement = strategy.outputs(instance)[index]
        size = self.bytes(instance.output_types[index], placement)
        return RedistributionCollective("all-reduce", size, tuple(axes))

    def scattered(
        self, instance: OperatorInstance, strategy: Strategy, index: int, wanted: Placement
    ) -> RedistributionCollective | None:
        """The reduce-scatter that replaces an all-reduce if only shards of the sum are needed."""
        whole_sum = self.sum_of(instance, strategy, index) if self.cluster.reduce_scatter else None
        if whole_sum is None:
            return None
        had = strategy.outputs(instance)[index]
        further = set(wanted.axes) - set(had.axes)
        if not set(whole_sum.axes) <= further or not set(had.axes) <= set(wanted.axes):
            return None
        return replace(whole_sum, kind="reduce-scatter")

    def saved(
        self, instance: OperatorInstance, strategy: Strategy, index: int, wanted: Placement
    ) -> float:
        """Seconds that a reduce-scatter saves over an all-reduce, per run."""
        part = self.scattered(instance, strategy, index, wanted)
        if part is None:
            return 0.0
        whole_sum = replace(part, kind="all-reduce")
        seconds = [t.seconds(self.mesh, self.cluster) for t in (whole_sum, part)]
        return seconds[0] - seconds[1]

    def _shifted(
        self, instance: OperatorInstance, axis: Axis, cut: tuple[int, ...]
    ) -> Iterator[RedistributionCollective]:
        """Collectives that align the shards of dimensions that are merged or split unevenly."""
        places = [instance.input_types[leaf].shape[dim] for leaf, dim in axis.inputs]
        results = [(instance.output_types[leaf], dim) for leaf, dim in axis.outputs]
        for type_, dim in results:
            if any(type_.shape[dim] != other for other in places):
                whole_bytes = size(type_.shape) * type_.dtype.numpy.itemsize
                yield RedistributionCollective("all-gather", whole_bytes, cut)

    def move(self, type_: TensorType, old: Placement, new: Placement) -> float:
        """Seconds to reshard a tensor."""
        if old == new:
            return 0.0
        key = (type_, old, new)
        found = self._moves.get(key)
        if found is None:
            found = self._moves[key] = sum(
                t.seconds(self.mesh, self.cluster) for t in self.transfers(type_, old, new)
            )
        return found

    def transfers(
        self, type_: TensorType, old: Placement, new: Placement
    ) -> tuple[RedistributionCollective, ...]:
        return redistribution(type_.shape, type_.dtype.numpy.itemsize, old, new, self.mesh)

    def moves(self, type_: TensorType, old: list[Placement], new: list[Placement]) -> np.ndarray:
        """A table of the seconds from each old placement to each new one."""
        rows = {p: i for i, p in enumerate(dict.fromkeys(old))}
        columns = {p: i for i, p in enumerate(dict.fromkeys(new))}
        table = np.array([[self.move(type_, a, b) for b in columns] for a in rows])
        return table[np.ix_([rows[p] for p in old], [columns[p] for p in new])]

    def bytes(self, type_: TensorType, placement: Placement) -> int:
        """The bytes of the largest shard of a tensor."""
        return placement.elements(type_.shape, self.mesh) * type_.dtype.numpy.itemsize
