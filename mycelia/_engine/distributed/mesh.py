"""Device meshes, and placements of tensors on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

from mycelia._engine.core.shape import Shape


@dataclass(frozen=True)
class Mesh:
    """Devices as a grid in row-major order: the last axis varies fastest."""

    sizes: tuple[int, ...]

    @cached_property
    def devices(self) -> int:
        return prod(self.sizes)

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The axes that have more than one device."""
        return tuple([axis for axis, size in enumerate(self.sizes) if size > 1])

    def degree(self, axes: Iterable[int]) -> int:
        """The number of shards that some axes make."""
        return prod(self.sizes[axis] for axis in axes)

    def __str__(self) -> str:
        return "x".join(map(str, self.sizes)) or "1"


@dataclass(frozen=True)
class Placement:
    """For each dimension of a tensor, the mesh axes that split it; other axes replicate it."""

    dims: tuple[tuple[int, ...], ...]

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """All mesh axes that split the tensor."""
        return tuple([axis for dim in self.dims for axis in dim])

    def local(self, shape: Shape, mesh: Mesh) -> Shape:
        """The shape of the largest shard."""
        return tuple([-(-n // mesh.degree(dim)) for n, dim in zip(shape, self.dims, strict=True)])

    def elements(self, shape: Shape, mesh: Mesh) -> int:
        """The number of elements of the largest shard."""
        return prod(self.local(shape, mesh))

    def is_even(self, shape: Shape, mesh: Mesh) -> bool:
        """Whether all shards have the same shape."""
        return all(n % mesh.degree(dim) == 0 for n, dim in zip(shape, self.dims, strict=True))

    def __str__(self) -> str:
        return "(" + ", ".join("".join(map(_letter, dim)) or "-" for dim in self.dims) + ")"


def replicated(ndim: int) -> Placement:
    """The placement of a tensor that every device holds in full."""
    return Placement(((),) * ndim)


def _letter(axis: int) -> str:
    return chr(ord("a") + axis)


def prime_factors(number: int) -> tuple[int, ...]:
    """The prime factors of a number, largest first."""
    factors, prime = [], 2
    while number > 1:
        while number % prime == 0:
            factors.append(prime)
            number //= prime
        prime += 1
    return tuple(sorted(factors, reverse=True))


def finest_mesh(devices: int) -> Mesh:
    """The mesh with the most axes."""
    return Mesh(prime_factors(devices) or (1,))


def meshes(devices: int) -> Iterator[Mesh]:
    """All meshes with one or two axes."""
    for first in range(devices, 1, -1):
        if devices % first == 0:
            second = devices // first
            yield Mesh((first, second) if second > 1 else (first,))
