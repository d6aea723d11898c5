"""From one placement of a tensor to another: which collectives, and what they move."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from mycelia.core.shape import Shape
from mycelia.parallel.cluster import Cluster
from mycelia.parallel.mesh import Mesh, Placement


@dataclass(frozen=True)
class Transfer:
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


def redistribution(
    shape: Shape, itemsize: int, old: Placement, new: Placement, mesh: Mesh
) -> tuple[Transfer, ...]:
    """The collectives that bring a tensor from `old` to `new`.

    Cutting further is free: each device keeps its part. An axis that goes to another dimension is
    an exchange of all with all; an axis that no longer cuts is a gathering.
    """
    if old == new:
        return ()
    before = {axis: place for place, dim in enumerate(old.dims) for axis in dim}
    after = {axis: place for place, dim in enumerate(new.dims) for axis in dim}
    dims = [list(dim) for dim in old.dims]
    for axis, place in after.items():
        if axis not in before:
            dims[place].append(axis)
    found = []
    moving = [a for a, place in before.items() if a in after and after[a] != place]
    for axis in moving:
        dims[before[axis]].remove(axis)
        dims[after[axis]].append(axis)
        found.append(Transfer("all-to-all", _bytes(shape, itemsize, dims, mesh), (axis,)))
    gone = tuple([axis for axis in before if axis not in after])
    if any(_keeps_minor(dim, gone) for dim in old.dims):
        size = _bytes(shape, itemsize, dims, mesh)
        found.append(Transfer("collective-permute", size, gone))
    for dim in dims:
        dim[:] = [axis for axis in dim if axis not in gone]
    if gone:
        found.append(Transfer("all-gather", _bytes(shape, itemsize, dims, mesh), gone))
    return tuple(found)


def _keeps_minor(dim: tuple[int, ...], gone: tuple[int, ...]) -> bool:
    """Whether a dimension loses an axis before one that it keeps: its parts lie elsewhere then."""
    kept = [axis not in gone for axis in dim]
    return any(not early and late for early, late in pairwise(kept))


def _bytes(shape: Shape, itemsize: int, dims: list[list[int]], mesh: Mesh) -> int:
    placement = Placement(tuple([tuple(dim) for dim in dims]))
    return placement.elements(shape, mesh) * itemsize
