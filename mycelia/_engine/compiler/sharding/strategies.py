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

    def inputs(self, work: OperatorInstance) -> tuple[Placement, ...]:
        """The placements that the operator needs for its inputs."""
        return tuple(
            [
                _placement(type_, [a.inputs for a in work.axes], self.cuts, place)
                for place, type_ in enumerate(work.input_types)
            ]
        )

    def outputs(self, work: OperatorInstance) -> tuple[Placement, ...]:
        """The placements of its results."""
        return tuple(
            [
                _placement(type_, [a.outputs for a in work.axes], self.cuts, place)
                for place, type_ in enumerate(work.output_types)
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

    `told_apart` separates isomorphic instances that must not be planned together. With
    `uses_all`, operators that can use all devices do.
    """

    pins: Mapping[OperatorInstance, tuple[Strategy, ...]] = field(default_factory=dict)
    axes: Callable[[OperatorInstance], Collection[int]] | None = None
    told_apart: Mapping[OperatorInstance, Any] = field(default_factory=dict)
    uses_all: bool = False

    def may_cut(self, work: OperatorInstance) -> Collection[int]:
        """The axes of an operator instance that may be split."""
        return range(len(work.axes)) if self.axes is None else self.axes(work)

    def identity(self, work: OperatorInstance) -> Any:
        """What distinguishes an operator instance from isomorphic ones."""
        own = self.told_apart.get(work)
        if work in self.pins:
            return (own, self.pins[work])
        return own if self.axes is None else (own, tuple(sorted(self.axes(work))))


def strategies(work: OperatorInstance, mesh: Mesh, limits: SearchConstraints) -> list[Strategy]:
    """All strategies of an operator instance, the replicated one first.

    Persistent tensors need shards of equal size. Other shards may be uneven if no axis of the
    instance can be split evenly: XLA pads them.
    """
    if work in limits.pins:
        return list(limits.pins[work])
    found = list(_assignments(work, mesh, limits, even=True))
    if len(found) == 1 and not work.is_input:
        found = list(_assignments(work, mesh, limits, even=False))
    if limits.uses_all and not (work.is_input or work.is_edge):
        found = [s for s in found if len(s.axes) == len(mesh.axes)] or found
    found.sort(key=lambda s: -len(s.axes))
    none = [s for s in found if not s.axes]
    return (none + [s for s in found if s.axes])[:MOST]


def extensions(
    work: OperatorInstance,
    base: Strategy,
    axis: int,
    known: Collection[int],
    mesh: Mesh,
    limits: SearchConstraints,
) -> list[Strategy]:
    """The strategy without a mesh axis, and with it on each axis it may split; `known` are fixed."""
    bare = _only(base, [a for a in known if a != axis])
    every = [_further_cut(bare, place, axis) for place in limits.may_cut(work)]
    if work in limits.pins:
        others = [a for a in known if a != axis]
        pins = [p for p in limits.pins[work] if _only(p, others) == bare]
        return list(dict.fromkeys([_only(p, {*known, axis}) for p in pins])) or [base]
    even = [s for s in every if _is_possible(work, s, mesh, even=True)]
    if not even and not work.is_input:
        even = [s for s in every if _is_possible(work, s, mesh, even=False)]
    if even and limits.uses_all and not (work.is_input or work.is_edge):
        return even
    return [bare, *even]


def _only(strategy: Strategy, axes: Collection[int]) -> Strategy:
    """The restriction of a strategy to some mesh axes."""
    cuts = [tuple([axis for axis in cut if axis in axes]) for cut in strategy.cuts]
    return Strategy(tuple(cuts))


def _further_cut(base: Strategy, place: int, axis: int) -> Strategy:
    """The strategy with one more mesh axis splitting an axis of the operator instance."""
    cuts = list(base.cuts)
    cuts[place] = tuple(sorted((*cuts[place], axis)))
    return Strategy(tuple(cuts))


def _assignments(
    work: OperatorInstance, mesh: Mesh, limits: SearchConstraints, *, even: bool
) -> Iterator[Strategy]:
    count = len(work.axes)
    places = [-1, *limits.may_cut(work)]
    for choice in product(places, repeat=len(mesh.axes)):
        cuts: list[tuple[int, ...]] = [()] * count
        for mesh_axis, axis in zip(mesh.axes, choice, strict=True):
            if axis >= 0:
                cuts[axis] = (*cuts[axis], mesh_axis)
        strategy = Strategy(tuple(cuts))
        if _is_possible(work, strategy, mesh, even=even):
            yield strategy


def _is_possible(work: OperatorInstance, strategy: Strategy, mesh: Mesh, *, even: bool) -> bool:
    pairs = zip(work.axes, strategy.cuts, strict=True)
    return all(_may_cut(axis, mesh.degree(cut), even) for axis, cut in pairs)


def _may_cut(axis: Axis, degree: int, even: bool) -> bool:
    if degree == 1:
        return True
    return axis.divides % degree == 0 if even else axis.size >= degree
