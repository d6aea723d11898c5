"""Values that lie on devices of some processes, and how they get to devices of others.

Every process knows of every such value its type and how it lies; the numbers are only where it
lies. Who sends which part of a value to whom follows from that alone, so all processes find the
same messages without asking.

A message is a program over one device of each of two processes, and both wait until it is through.
Why nobody waits forever: all processes go through the same messages (and the same programs of
stages) in the same order, and leave out those they have no part in. Of all that is not done yet,
take the first in that order: whoever takes part in it has nothing before it left to wait for, so it
comes to it, and it gets done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import Any

import jax
import numpy as np

from mycelia._engine.core.process_groups import world
from mycelia._engine.core.shape import Shape
from mycelia._engine.core.wait_registry import Ranks, busy
from mycelia._engine.kernels.ring_collectives import AXIS
from mycelia._engine.runtime.distributed.multiprocess_jit import MultiProcessProgram, mesh_of

Box = tuple[tuple[int, int], ...]  # where a part of an array begins and ends, by dimension


@dataclass(frozen=True, eq=False)
class StageArray:
    """An array on the devices of a stage; `array` is None in a process that has none of them.

    It is never wholly here for its readers, so that all processes ask for its numbers together.
    """

    shape: Shape
    dtype: Any  # numpy's
    sharding: Any
    array: Any

    is_fully_addressable = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * int(np.dtype(self.dtype).itemsize)

    def devices(self) -> set[Any]:
        return set(self.sharding.device_set)

    def copied(self) -> StageArray:
        """The same numbers in memory of their own."""
        array = None if self.array is None else jax.numpy.array(self.array)
        return StageArray(self.shape, self.dtype, self.sharding, array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(replicate_everywhere(self), dtype=dtype, copy=copy)


def own_rank() -> int:
    """The number of this process."""
    return int(jax.process_index())


def ranks_of(devices: Any) -> Ranks:
    """The processes that devices belong to."""
    return tuple(sorted({device.process_index for device in devices}))


def transfer(value: Any, wanted: Any) -> StageArray:
    """A value where it is wanted: one that all processes have, or one that lies on a stage."""
    if isinstance(value, StageArray):
        return _moved(value, wanted)
    shape, dtype = tuple(np.shape(value)), value.dtype
    ranks = ranks_of(wanted.device_set)
    if own_rank() not in ranks:
        return StageArray(shape, dtype, wanted, None)
    if len(ranks) == 1:
        return StageArray(shape, dtype, wanted, jax.device_put(value, wanted))
    numbers = np.asarray(value)
    array = jax.make_array_from_callback(shape, wanted, numbers.__getitem__)
    return StageArray(shape, dtype, wanted, array)


def replicate_everywhere(value: Any) -> Any:
    """The numbers of a value in every process, all of which must ask; others are left as they are.

    They are new memory, which the asker may write.
    """
    if not isinstance(value, StageArray):
        return value
    whole: Box = tuple([(0, size) for size in value.shape])
    wanted = dict.fromkeys(range(world().size), (whole,))
    (found,) = _delivered(value, wanted).values()
    return found


# ---- moving ------------------------------------------------------------------------------------


def _moved(value: StageArray, wanted: Any) -> StageArray:
    if value.sharding == wanted or (
        value.devices() == set(wanted.device_set)
        and value.sharding.is_equivalent_to(wanted, value.ndim)
    ):
        return value
    senders, readers = ranks_of(value.devices()), ranks_of(wanted.device_set)
    if senders == readers and len(readers) == 1:
        array = None if value.array is None else jax.device_put(value.array, wanted)
        return StageArray(value.shape, value.dtype, wanted, array)
    boxes = _boxes(wanted, value.shape)
    by_rank: dict[int, tuple[Box, ...]] = {
        rank: tuple({box: None for device, box in boxes.items() if device.process_index == rank})
        for rank in readers
    }
    found = _delivered(value, by_rank)
    if own_rank() not in readers:
        return StageArray(value.shape, value.dtype, wanted, None)
    parts = [
        jax.device_put(found[box], device)
        for device, box in boxes.items()
        if device.process_index == own_rank()
    ]
    array = jax.make_array_from_single_device_arrays(value.shape, wanted, parts)
    return StageArray(value.shape, value.dtype, wanted, array)


def _delivered(value: StageArray, wanted: Mapping[int, tuple[Box, ...]]) -> dict[Box, np.ndarray]:
    """The parts of a value that this process wants, when everybody has sent what others want."""
    me = own_rank()
    own = _own_parts(value)
    pieces: dict[Box, np.ndarray] = {}
    for reader in sorted(wanted):
        for sender, boxes in _messages(value.sharding, value.shape, reader, wanted[reader]):
            if sender == reader == me:
                pieces |= {box: _cut(own, box) for box in boxes}
            elif sender == me:
                _sent([_cut(own, box) for box in boxes], reader)
            elif reader == me:
                pieces |= _received(boxes, np.dtype(value.dtype), sender)
    return {box: _joined(box, pieces, value.dtype) for box in wanted.get(me, ())}


def _own_parts(value: StageArray) -> dict[Box, np.ndarray]:
    """What the devices of this process hold; computing it may take as long as it takes."""
    if value.array is None:
        return {}
    with busy():
        return {
            _box(shard.index, value.shape): np.asarray(shard.data)
            for shard in value.array.addressable_shards
        }


@lru_cache(maxsize=4096)
def _messages(
    sharding: Any, shape: Shape, reader: int, wanted: tuple[Box, ...]
) -> tuple[tuple[int, tuple[Box, ...]], ...]:
    """Who sends which parts to a process that wants some boxes; what it has, it sends itself.

    What several processes have comes from another one of them for each reader.
    """
    holders: dict[Box, set[int]] = {}
    for device, box in _boxes(sharding, shape).items():
        holders.setdefault(box, set()).add(device.process_index)
    found: dict[int, dict[Box, None]] = {}
    for box in wanted:
        for held in sorted(holders):
            ranks = sorted(holders[held])
            sender = reader if reader in ranks else ranks[reader % len(ranks)]
            shared = _overlap(box, held)
            if shared is not None:
                found.setdefault(sender, {})[shared] = None
    return tuple([(sender, tuple(found[sender])) for sender in sorted(found)])


def _boxes(sharding: Any, shape: Shape) -> dict[Any, Box]:
    indices = sharding.devices_indices_map(shape)
    ordered = sorted(indices, key=lambda device: (device.process_index, device.id))
    return {device: _box(indices[device], shape) for device in ordered}


def _box(index: Sequence[slice], shape: Shape) -> Box:
    return tuple([one.indices(size)[:2] for one, size in zip(index, shape, strict=True)])


def _overlap(one: Box, other: Box) -> Box | None:
    both = tuple([(max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True)])
    return both if all(begin < end for begin, end in both) else None


def _inside(box: Box, outer: Box) -> tuple[slice, ...]:
    return tuple([slice(a - c, b - c) for (a, b), (c, _) in zip(box, outer, strict=True)])


def _cut(parts: dict[Box, np.ndarray], box: Box) -> np.ndarray:
    """A box out of the part that has all of it."""
    for held, numbers in parts.items():
        if _overlap(held, box) == box:
            return numbers[_inside(box, held)]
    raise KeyError(box)


def _joined(box: Box, pieces: dict[Box, np.ndarray], dtype: Any) -> np.ndarray:
    found = np.empty([end - begin for begin, end in box], dtype)
    for piece, numbers in pieces.items():
        if _overlap(piece, box) == piece:
            found[_inside(piece, box)] = numbers
    return found


# ---- messages ------------------------------------------------------------------------------------


def _sent(parts: Sequence[np.ndarray], reader: int) -> None:
    raw = [np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in parts]
    _message(own_rank(), reader, mesh_of(_pair(own_rank(), reader)))(np.concatenate(raw))


def _received(boxes: Sequence[Box], dtype: Any, sender: int) -> dict[Box, np.ndarray]:
    shapes = [tuple([end - begin for begin, end in box]) for box in boxes]
    lengths = [prod(shape) * dtype.itemsize for shape in shapes]
    me = own_rank()
    program = _message(sender, me, mesh_of(_pair(sender, me)))
    raw = np.asarray(program(np.zeros(sum(lengths), np.uint8)))
    ends = np.cumsum(lengths)
    return {
        box: raw[end - length : end].view(dtype).reshape(shape)
        for box, shape, length, end in zip(boxes, shapes, lengths, ends, strict=True)
    }


def _pair(one: int, other: int) -> Ranks:
    return (min(one, other), max(one, other))


@cache
def _message(sender: int, reader: int, mesh: Any) -> Callable[..., Any]:
    """A program that brings bytes of one process to another; on another mesh it is another."""
    ranks = _pair(sender, reader)
    way = [(ranks.index(sender), ranks.index(reader))]

    def message_between_stages(raw: Any) -> Any:
        return jax.lax.ppermute(raw, AXIS, way)

    return MultiProcessProgram(message_between_stages, ranks, is_whole=False)


def rows_of_all(rows: Any) -> np.ndarray:
    """What each process brings, one below the other in the order of ranks, for all of them."""
    own = np.ascontiguousarray(rows)
    ranks = tuple(range(world().size))
    every = np.asarray(_telling(ranks, mesh_of(ranks))(own.reshape(-1).view(np.uint8)))
    return every.reshape(-1).view(own.dtype).reshape(len(ranks) * own.shape[0], *own.shape[1:])


@cache
def _telling(ranks: Ranks, mesh: Any) -> Callable[..., Any]:
    """A program that gives every process the bytes of all; on another mesh it is another."""

    def batch_of_all(raw: Any) -> Any:
        return jax.lax.all_gather(raw, AXIS)

    return MultiProcessProgram(batch_of_all, ranks, is_whole=False)
