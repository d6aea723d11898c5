"""Sharding strategies: which mesh axis splits which axis of an operator instance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from mycelia._engine.compiler.sharding.problem import OperatorInstance
from mycelia._engine.distributed.mesh import Mesh, Placement, replicated
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.axes import Axis

MOST = 256  # strategies per operator instance; those that split most come first


@dataclass(frozen=True)
class Strategy:
    """For each axis of the operator instance, the mesh axes that split it."""

    cuts: tuple[tuple[int, ...], ...]

    @cached_property
    def axes(self) -> tuple[int, ...]:
        return tuple([axis for cut in self.cuts for axis in cut])

    def inputs(self, instance: OperatorInstance) -> tuple[Placement, ...]:
        """The placements that the operator needs for its inputs."""
        return tuple(
            [
                _placement(type_, [a.inputs for a in instance.axes], self.cuts, index)
                for index, type_ in enumerate(instance.input_types)
            ]
        )

    def outputs(self, instance: OperatorInstance) -> tuple[Placement, ...]:
        """The placements of its results."""
        return tuple(
            [
                _placement(type_, [a.outputs for a in instance.axes], self.cuts, index)
                for index, type_ in enumerate(instance.output_types)
            ]
        )


def _placement(
    type_: TensorType,
    places: Sequence[tuple[tuple[int, int], ...]],
    cuts: tuple[tuple[int, ...], ...],
    leaf: int,
) -> Placement:
    if not any(cuts):
        return replicated(type_.ndim)
    dims: list[tuple[int, ...]] = [()] * type_.ndim
    for found, cut in zip(places, cuts, strict=True):
        for number, dim in found:
            if number == leaf and cut:
                dims[dim] = cut
    return Placement(tuple(dims))


@dataclass(frozen=True)
class SearchConstraints:
    """Allowed choices: fixed strategies for some operator instances, allowed axes for others.

    `distinguished` separates isomorphic instances that must not be planned together. With
    `uses_all`, operators that can use all devices do.
    """

    pins: Mapping[OperatorInstance, tuple[Strategy, ...]] = field(default_factory=dict)
    axes: Callable[[OperatorInstance], Collection[int]] | None = None
    distinguished: Mapping[OperatorInstance, Any] = field(default_factory=dict)
    uses_all: bool = False

    def may_cut(self, instance: OperatorInstance) -> Collection[int]:
        """The axes of an operator instance that may be split."""
        return range(len(instance.axes)) if self.axes is None else self.axes(instance)

    def identity(self, instance: OperatorInstance) -> Any:
        """What distinguishes an operator instance from isomorphic ones."""
        own = self.distinguished.get(instance)
        if instance in self.pins:
            return (own, self.pins[instance])
        return own if self.axes is None else (own, tuple(sorted(self.axes(instance))))


def strategies(instance: OperatorInstance, mesh: Mesh, limits: SearchConstraints) -> list[Strategy]:
    """All strategies of an operator instance, the replicated one first.

    Persistent tensors need shards of equal size. Other shards may be uneven if no axis of the
    instance can be split evenly: XLA pads them.
    """
    if instance in limits.pins:
        return list(limits.pins[instance])
    found = list(_assignments(instance, mesh, limits, even=True))
    if len(found) == 1 and not instance.is_input:
        found = list(_assignments(instance, mesh, limits, even=False))
    if limits.uses_all and not (instance.is_input or instance.is_edge):
        found = [s for s in found if len(s.axes) == len(mesh.axes)] or found
    found.sort(key=lambda s: -len(s.axes))
    none = [s for s in found if not s.axes]
    return (none + [s for s in found if s.axes])[:MOST]


def extensions(
    instance: OperatorInstance,
    base: Strategy,
    axis: int,
    known: Collection[int],
    mesh: Mesh,
    limits: SearchConstraints,
) -> list[Strategy]:
    """The strategy without a mesh axis, and with it on each possible axis; `known` are fixed."""
    bare = _only(base, [a for a in known if a != axis])
    every = [_further_cut(bare, index, axis) for index in limits.may_cut(instance)]
    if instance in limits.pins:
        others = [a for a in known if a != axis]
        pins = [p for p in limits.pins[instance] if _only(p, others) == bare]
        return list(dict.fromkeys([_only(p, {*known, axis}) for p in pins])) or [base]
    even = [s for s in every if _is_possible(instance, s, mesh, even=True)]
    if not even and not instance.is_input:
        even = [s for s in every if _is_possible(instance, s, mesh, even=False)]
    if even and limits.uses_all and not (instance.is_input or instance.is_edge):
        return even
    return [bare, *even]


def _only(strategy: Strategy, axes: Collection[int]) -> Strategy:
    """The restriction of a strategy to some mesh axes."""
    cuts = [tuple([axis for axis in cut if axis in axes]) for cut in strategy.cuts]
    return Strategy(tuple(cuts))


def _further_cut(base: Strategy, index: int, axis: int) -> Strategy:
    """The strategy with one more mesh axis splitting an axis of the operator instance."""
    cuts = list(base.cuts)
    cuts[index] = tuple(sorted((*cuts[index], axis)))
    return Strategy(tuple(cuts))


def _assignments(
    instance: OperatorInstance, mesh: Mesh, limits: SearchConstraints, *, even: bool
) -> Iterator[Strategy]:
    count = len(instance.axes)
    places = [-1, *limits.may_cut(instance)]
    for choice in product(places, repeat=len(mesh.axes)):
        cuts: list[tuple[int, ...]] = [()] * count
        for mesh_axis, axis in zip(mesh.axes, choice, strict=True):
            if axis >= 0:
                cuts[axis] = (*cuts[axis], mesh_axis)
        strategy = Strategy(tuple(cuts))
        if _is_possible(instance, strategy, mesh, even=even):
            yield strategy


def _is_possible(instance: OperatorInstance, strategy: Strategy, mesh: Mesh, *, even: bool) -> bool:
    pairs = zip(instance.axes, strategy.cuts, strict=True)
    return all(_may_cut(axis, mesh.degree(cut), even) for axis, cut in pairs)


def _may_cut(axis: Axis, degree: int, even: bool) -> bool:
    if degree == 1:
        return True
    return axis.divides % degree == 0 if even else axis.size >= degree
