"""What a strategy costs: time to compute, time to talk, bytes that stay."""

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
    """Prices on one mesh of one cluster, each worked out once.

    `weight` is what a byte that stays on a device between two runs costs, in seconds: next to
    nothing (of layouts that take the same time, the smaller one wins), unless memory is short.
    """

    mesh: Mesh
    cluster: Cluster
    weight: float = 1e-15
    _moves: dict[Any, float] = field(default_factory=dict)

    def work(self, work: OperatorInstance, strategy: Strategy) -> float:
        """Seconds of one work by itself, for all its runs."""
        if work.is_input:
            return self.weight * self.bytes(work.output_types[0], strategy.outputs(work)[0])
        talk = sum(t.seconds(self.mesh, self.cluster) for t in self.inner(work, strategy))
        return work.times * (self.compute(work, strategy) + talk)

    def compute(self, work: OperatorInstance, strategy: Strategy) -> float:
        """Seconds of arithmetic, or of reading and writing memory if that takes longer."""
        if work.is_edge:
            return 0.0
        arithmetic = work.flops / self.cluster.flops
        for axis, cut in zip(work.axes, strategy.cuts, strict=True):
            if cut and work.flops:
                share = min(axis.flops / work.flops, 1.0)
                parts = axis.size / -(-axis.size // self.mesh.degree(cut))
                arithmetic *= 1 - share + share / parts
        placed = [*zip(work.input_types, strategy.inputs(work), strict=True)]
        placed += zip(work.output_types, strategy.outputs(work), strict=True)
        touched = sum(self.bytes(type_, placement) for type_, placement in placed)
        return max(arithmetic, touched / self.cluster.memory_bandwidth)

    def inner(self, work: OperatorInstance, strategy: Strategy) -> list[RedistributionCollective]:
        """The collectives a work needs besides those that bring its inputs: sums of parts."""
        sums = [self.sum_of(work, strategy, place) for place in range(len(work.output_types))]
        found = [transfer for transfer in sums if transfer is not None]
        for axis, cut in zip(work.axes, strategy.cuts, strict=True):
            if cut and axis.inner:
                others = self.mesh.degree(a for a in strategy.axes if a not in cut)
                found.append(RedistributionCollective("all-reduce", axis.inner / others, cut))
            if cut and axis.divides % self.mesh.degree(cut):
                found += self._shifted(work, axis, cut)
        return found

    def sum_of(
        self, work: OperatorInstance, strategy: Strategy, place: int
    ) -> RedistributionCollective | None:
        """The collective that puts the parts of one result together, if it comes in parts."""
        axes = [
            mesh_axis
            for axis, cut in zip(work.axes, strategy.cuts, strict=True)
            for mesh_axis in cut
            if any(leaf == place for leaf, _ in axis.combined)
        ]
        if not axes:
            return None
        placement = strategy.outputs(work)[place]
        size = self.bytes(work.output_types[place], placement)
        return RedistributionCollective("all-reduce", size, tuple(axes))

    def scattered(
        self, work: OperatorInstance, strategy: Strategy, place: int, wanted: Placement
    ) -> RedistributionCollective | None:
        """The collective that leaves each device its part of a sum, if only parts are wanted."""
        whole_sum = self.sum_of(work, strategy, place) if self.cluster.reduce_scatter else None
        if whole_sum is None:
            return None
        had = strategy.outputs(work)[place]
        further = set(wanted.axes) - set(had.axes)
        if not set(whole_sum.axes) <= further or not set(had.axes) <= set(wanted.axes):
            return None
        return replace(whole_sum, kind="reduce-scatter")

    def saved(
        self, work: OperatorInstance, strategy: Strategy, place: int, wanted: Placement
    ) -> float:
        """Seconds that such a collective takes less than a whole sum, in one run."""
        part = self.scattered(work, strategy, place, wanted)
        if part is None:
            return 0.0
        whole_sum = replace(part, kind="all-reduce")
        seconds = [t.seconds(self.mesh, self.cluster) for t in (whole_sum, part)]
        return seconds[0] - seconds[1]

    def _shifted(
        self, work: OperatorInstance, axis: Axis, cut: tuple[int, ...]
    ) -> Iterator[RedistributionCollective]:
        """Uneven parts of dimensions that are joined or split do not lie where they belong."""
        places = [work.input_types[leaf].shape[dim] for leaf, dim in axis.inputs]
        results = [(work.output_types[leaf], dim) for leaf, dim in axis.outputs]
        for type_, dim in results:
            if any(type_.shape[dim] != other for other in places):
                whole_bytes = size(type_.shape) * type_.dtype.numpy.itemsize
                yield RedistributionCollective("all-gather", whole_bytes, cut)

    def move(self, type_: TensorType, old: Placement, new: Placement) -> float:
        """Seconds to lay out a tensor anew."""
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
        """Seconds from each of some placements to each of others, as a table."""
        rows = {p: i for i, p in enumerate(dict.fromkeys(old))}
        columns = {p: i for i, p in enumerate(dict.fromkeys(new))}
        table = np.array([[self.move(type_, a, b) for b in columns] for a in rows])
        return table[np.ix_([rows[p] for p in old], [columns[p] for p in new])]

    def bytes(self, type_: TensorType, placement: Placement) -> int:
        """Bytes a device holds of a tensor."""
        return placement.elements(type_.shape, self.mesh) * type_.dtype.numpy.itemsize
