"""Resharding a tensor from one placement to another: the collectives and the bytes they move."""

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
        """Bytes that each device sends in a ring algorithm."""
        members = mesh.degree(self.axes)
        share = {"all-reduce": 2 * (members - 1) / members, "collective-permute": 1.0}
        return self.bytes * share.get(self.kind, (members - 1) / members)

    def seconds(self, mesh: Mesh, cluster: Cluster) -> float:
        return cluster.seconds(self.moved(mesh), mesh, self.axes)


@dataclass(frozen=True)
class RedistributionStep:
    """One step of a redistribution: the placement after it, and its collective, if any."""

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
    """The steps from one placement to another, each with at most one collective.

    Splitting further is free: each device keeps a slice of its shard. An axis that moves to another
    dimension needs an all-to-all; an axis that no longer splits the tensor needs an all-gather.
    Both apply to the last axes of a dimension; for other axes, devices first permute their shards.
    """
    if old == new:
        return ()
    builder = _RedistributionRoute(shape, itemsize, old, mesh)
    builder.split(new)
    builder.exchange(new)
    builder.gather(new)
    builder.permute(new)
    return tuple(builder.steps)


class _RedistributionRoute:
    """Builds the steps; holds the current placement as lists of axes."""

    def __init__(self, shape: Shape, itemsize: int, old: Placement, mesh: Mesh) -> None:
        self._shape, self._itemsize, self._mesh = shape, itemsize, mesh
        self._dims = [list(dim) for dim in old.dims]
        self.steps: list[RedistributionStep] = []

    def split(self, new: Placement) -> None:
        """Add axes that do not split the tensor yet; each device keeps a slice of its shard."""
        current = {axis for dim in self._dims for axis in dim}
        further = [[axis for axis in dim if axis not in current] for dim in new.dims]
        if any(further):
            for dim, axes in zip(self._dims, further, strict=True):
                dim += axes
            self._note(None, ())

    def exchange(self, new: Placement) -> None:
        """Move axes from one dimension to another: one all-to-all per pair of dimensions."""
        goal = {axis: index for index, dim in enumerate(new.dims) for axis in dim}
        for source in range(len(self._dims)):
            for target in range(len(self._dims)):
                moving = [a for a in self._dims[source] if source != target == goal.get(a)]
                if moving:
                    self._to_end(source, moving)
                    del self._dims[source][-len(moving) :]
                    self._dims[target] += moving
                    self._note("all-to-all", tuple(moving))

    def gather(self, new: Placement) -> None:
        """Gather along axes that the new placement does not use, dimension by dimension."""
        goal = set(new.axes)
        for index, dim in enumerate(self._dims):
            gone = [axis for axis in dim if axis not in goal]
            if gone:
                self._to_end(index, gone)
                del self._dims[index][-len(gone) :]
                self._note("all-gather", tuple(gone))

    def permute(self, new: Placement) -> None:
        """Send shards that are on the wrong devices to the right ones."""
        wrong = [i for i, dim in enumerate(new.dims) if list(dim) != self._dims[i]]
        axes = tuple([axis for index in wrong for axis in self._dims[index]])
        if wrong:
            self._dims = [list(dim) for dim in new.dims]
            self._note("collective-permute", axes)

    def _to_end(self, index: int, last: list[int]) -> None:
        dim = self._dims[index]
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
