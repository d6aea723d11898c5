"""Arrays in parts: which of them the devices of this process hold, and arrays made part by part."""

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
    """What a process has of an array."""

    NOTHING = 0  # it lies on devices of other processes
    HOST = 1  # a copy of its own, with the host
    DEVICE = 2  # a copy of its own, on its devices
    SHARED = 3  # some of the parts that it has together with others


@dataclass(frozen=True)
class LocalShard:
    """A part of an array: where it begins in the whole, and its numbers, wherever they lie."""

    offset: Shape
    numbers: Any

    @property
    def shape(self) -> Shape:
        return tuple(self.numbers.shape)

    def read(self) -> np.ndarray:
        """The numbers, without a copy where that can be."""
        return np.asarray(self.numbers, order="C")

    def copied(self) -> LocalShard:
        """The same as it is now, for a writer who comes later."""
        return LocalShard(self.offset, np.array(self.numbers, order="C"))


def array_residency(array: Any) -> ArrayResidency:
    """What this process has of an array."""
    if not isinstance(array, jax.Array):
        return ArrayResidency.HOST
    if array.is_fully_addressable:
        return ArrayResidency.DEVICE
    return ArrayResidency.SHARED if array.sharding.addressable_devices else ArrayResidency.NOTHING


def is_on_several_devices(array: Any) -> bool:
    """Whether an array lies on several devices, of this process or of others."""
    return isinstance(array, jax.Array) and (
        len(array.sharding.device_set) > 1 or not array.is_fully_addressable
    )


def shards_to_write(array: Any) -> list[LocalShard]:
    """The parts of an array of which the first device that holds them is one of this process.

    So each part has one writer in the whole job, and nobody needs to ask the others.
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
    """Where a region begins."""
    return tuple([one.indices(size)[0] for one, size in zip(region, shape, strict=True)])


def filled_like(array: Any, read: Callable[[Region], np.ndarray]) -> Any:
    """An array that lies where another does, of numbers that `read` gives for a region of it.

    Only the regions that devices of this process hold are read.
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
    """The numbers of every process (int32, equally many), a row each; all of them must ask.

    It is a meeting: nobody goes on before all have come. `what` is its name for a watchdog.
    """
    if world().size == 1:
        return np.array([numbers], np.int32)
    ranks = tuple(range(world().size))
    return np.asarray(_telling(what, ranks, mesh_of(ranks))(np.array(numbers, np.int32)))


@cache
def _telling(what: str, ranks: Ranks, mesh: Any) -> MultiProcessProgram:
    """A program for these processes; on other devices (`mesh`) it is another."""

    def tell(numbers: Any) -> Any:
        return jax.lax.all_gather(numbers, AXIS)

    tell.__name__ = what
    return MultiProcessProgram(tell, ranks, is_whole=False)


def _order(device: Any) -> tuple[int, int]:
    return device.process_index, device.id
