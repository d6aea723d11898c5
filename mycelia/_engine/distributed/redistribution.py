"""From one placement of a tensor to another: which collectives, and what they move."""

from __future__ import annotations

from dataclasses import dataclass

from mycelia._engine.core.shape import Shape
from mycelia._engine.distributed.cluster import Cluster
from mycelia._engine.distributed.mesh import Mesh, Placement


@dataclass(frozen=True)
class RedistributionCollective:
    """One collective: its kind, the bytes of its result, the mesh axes it runs along."""

    kind: str
    bytes: float
    axes: tuple[int, ...]

    def moved(self, mesh: Mesh) -> float:
        """Bytes that each device sends, round a ring."""
        members = mesh.degree(self.axes)
        share = {"all-reduce": 2 * (members - 1) / members, "collective-permute": 1.0}
        return self.bytes * share.get(self.kind, (members - 1) / members)

    def seconds(self, mesh: Mesh, cluster: Cluster) -> float:
        return cluster.seconds(self.moved(mesh), mesh, self.axes)


@dataclass(frozen=True)
class RedistributionStep:
    """One step of a redistribution: the placement after it, and the collective, if it needs one."""

    placement: Placement
    transfer: RedistributionCollective | None


def redistribution(
    shape: Shape, itemsize: int, old: Placement, new: Placement, mesh: Mesh
) -> tuple[RedistributionCollective, ...]:
    """The collectives that bring a tensor from `old` to `new`."""
    steps = route(shape, itemsize, old, new, mesh)
    return tuple([step.transfer for step in steps if step.transfer is not None])


def route(
    shape: Shape, itemsize: int, old: Placement, new: Placement, mesh: Mesh
) -> tuple[RedistributionStep, ...]:
    """The way from one placement to another in steps that are one collective each.

    Cutting further is free: each device keeps its part. Axes that go to another dimension are an
    exchange of all with all; axes that no longer cut are a gathering. Both work on the last axes of
    a dimension; where others are meant, devices first exchange their parts.
    """
    if old == new:
        return ()
    way = _RedistributionRoute(shape, itemsize, old, mesh)
    way.cut(new)
    way.exchange(new)
    way.gather(new)
    way.arrange(new)
    return tuple(way.steps)


class _RedistributionRoute:
    """The placement on the way, as lists of axes that change."""

    def __init__(self, shape: Shape, itemsize: int, old: Placement, mesh: Mesh) -> None:
        self._shape, self._itemsize, self._mesh = shape, itemsize, mesh
        self._dims = [list(dim) for dim in old.dims]
        self.steps: list[RedistributionStep] = []

    def cut(self, new: Placement) -> None:
        """Each device keeps a part of what it has."""
        here = {axis for dim in self._dims for axis in dim}
        further = [[axis for axis in dim if axis not in here] for dim in new.dims]
        if any(further):
            for dim, axes in zip(self._dims, further, strict=True):
                dim += axes
            self._note(None, ())

    def exchange(self, new: Placement) -> None:
        """Axes go from one dimension to another, all that go the same way at once."""
        goal = {axis: place for place, dim in enumerate(new.dims) for axis in dim}
        for source in range(len(self._dims)):
            for target in range(len(self._dims)):
                moving = [a for a in self._dims[source] if source != target == goal.get(a)]
                if moving:
                    self._to_end(source, moving)
                    del self._dims[source][-len(moving) :]
                    self._dims[target] += moving
                    self._note("all-to-all", tuple(moving))

    def gather(self, new: Placement) -> None:
        """Axes that the new placement does not have are undone, one dimension after another."""
        goal = set(new.axes)
        for place, dim in enumerate(self._dims):
            gone = [axis for axis in dim if axis not in goal]
            if gone:
                self._to_end(place, gone)
                del self._dims[place][-len(gone) :]
                self._note("all-gather", tuple(gone))

    def arrange(self, new: Placement) -> None:
        """Parts that lie on the wrong devices are exchanged."""
        wrong = [p for p, dim in enumerate(new.dims) if list(dim) != self._dims[p]]
        axes = tuple([axis for place in wrong for axis in self._dims[place]])
        if wrong:
            self._dims = [list(dim) for dim in new.dims]
            self._note("collective-permute", axes)

    def _to_end(self, place: int, last: list[int]) -> None:
        dim = self._dims[place]
        if dim[-len(last) :] != last:
            axes = tuple(dim)
            dim[:] = [axis for axis in dim if axis not in last] + last
            self._note("collective-permute", axes)

    def _note(self, kind: str | None, axes: tuple[int, ...]) -> None:
        placement = Placement(tuple([tuple(dim) for dim in self._dims]))
        size = placement.elements(self._shape, self._mesh) * self._itemsize
        self.steps.append(
            RedistributionStep(
                placement, None if kind is None else RedistributionCollective(kind, size, axes)
            )
        )
