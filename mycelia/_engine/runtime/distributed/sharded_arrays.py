"""Sharded arrays: the shards that this process holds, and arrays built shard by shard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any

import jax
import numpy as np

from mycelia._engine.core.process_groups import world
from mycelia._engine.core.shape import Shape
from mycelia._engine.core.wait_registry import Ranks
from mycelia._engine.kernels.ring_collectives import AXIS
from mycelia._engine.runtime.distributed.multiprocess_jit import MultiProcessProgram, mesh_of

Region = tuple[slice, ...]


class ArrayResidency(IntEnum):
    """How much of an array a process holds."""

    NOTHING = 0  # it is on devices of other processes
    HOST = 1  # a local copy in host memory
    DEVICE = 2  # a local copy on its devices
    SHARED = 3  # some shards of a global array


@dataclass(frozen=True)
class LocalShard:
    """A shard of an array: its offset in the whole, and its data on the host or a device."""

    offset: Shape
    numbers: Any

    @property
    def shape(self) -> Shape:
        return tuple(self.numbers.shape)

    def read(self) -> np.ndarray:
        """The data, without a copy if possible."""
        return np.asarray(self.numbers, order="C")

    def copied(self) -> LocalShard:
        """A snapshot of the shard for a later write."""
        return LocalShard(self.offset, np.array(self.numbers, order="C"))


def array_residency(array: Any) -> ArrayResidency:
    """How much of an array this process holds."""
    if not isinstance(array, jax.Array):
        return ArrayResidency.HOST
    if array.is_fully_addressable:
        return ArrayResidency.DEVICE
    return ArrayResidency.SHARED if array.sharding.addressable_devices else ArrayResidency.NOTHING


def is_on_several_devices(array: Any) -> bool:
    """Whether an array is on several devices, of this process or of others."""
    return isinstance(array, jax.Array) and (
        len(array.sharding.device_set) > 1 or not array.is_fully_addressable
    )


def shards_to_write(array: Any) -> list[LocalShard]:
    """The shards of an array whose first device belongs to this process.

    So each shard has exactly one writer in the job, without communication.
    """
    if not isinstance(array, jax.Array):
        return [LocalShard((0,) * np.ndim(array), array)]
    first: dict[Shape, Any] = {}
    for device, region in array.sharding.devices_indices_map(array.shape).items():
        begin = offset_of(region, array.shape)
        known = first.get(begin)
        if known is None or _order(device) < _order(known):
            first[begin] = device
    here = {shard.device: shard for shard in array.addressable_shards}
    return [
        LocalShard(begin, here[device].data)
        for begin, device in sorted(first.items(), key=lambda item: item[0])
        if device in here
    ]


def offset_of(region: Region, shape: Shape) -> Shape:
    """The start indices of a region."""
    return tuple([one.indices(size)[0] for one, size in zip(region, shape, strict=True)])


def filled_like(array: Any, read: Callable[[Region], np.ndarray]) -> Any:
    """An array with the sharding of another one, filled by calling `read` for each region.

    Only the regions on devices of this process are read.
    """
    shape = tuple(array.shape)
    if not isinstance(array, jax.Array):
        return np.array(read(tuple([slice(0, size) for size in shape])), array.dtype, order="C")

    def part(region: Region | None) -> np.ndarray:
        bounds = [one.indices(size) for one, size in zip(region or (), shape, strict=True)]
        found = read(tuple([slice(begin, end) for begin, end, _ in bounds]))
        return np.asarray(found, array.dtype)

    return jax.make_array_from_callback(shape, array.sharding, part, dtype=array.dtype)


def gather_from_all(what: str, numbers: Sequence[int]) -> np.ndarray:
    """Gather equally many int32 values from every process, one row each; all must call it.

    It is a barrier: no process continues before all have arrived. `what` names it for a watchdog.
    """
    if world().size == 1:
        return np.array([numbers], np.int32)
    ranks = tuple(range(world().size))
    return np.asarray(_telling(what, ranks, mesh_of(ranks))(np.array(numbers, np.int32)))


@cache
def _telling(what: str, ranks: Ranks, mesh: Any) -> MultiProcessProgram:
    """The all-gather program of these processes, cached per `mesh`."""

    def tell(numbers: Any) -> Any:
        return jax.lax.all_gather(numbers, AXIS)

    tell.__name__ = what
    return MultiProcessProgram(tell, ranks, is_whole=False)


def _order(device: Any) -> tuple[int, int]:
    return device.process_index, device.id
