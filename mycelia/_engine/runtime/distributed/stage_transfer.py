"""Transfer of values between the devices of different processes, for pipeline stages.

Every process knows the type and the sharding of every such value; only the owners hold the data.
Senders, receivers, and shards follow from that alone, so all processes derive the same messages
without communication.

A message is a program over one device of each of two processes, and both wait for its end. This
cannot deadlock: all processes follow the same order of messages (and of stage programs) and skip
those that they do not take part in. Consider the first unfinished one in that order: its
participants have nothing earlier to wait for, so they reach it, and it completes.
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

Box = tuple[tuple[int, int], ...]  # start and end of a region of an array, by dimension


@dataclass(frozen=True, eq=False)
class StageArray:
    """An array on the devices of a stage; `array` is None in processes without these devices.

    It never counts as local, so that all processes request its data together.
    """

    shape: Shape
    dtype: Any  # a NumPy dtype
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
        """A copy in separate memory."""
        array = None if self.array is None else jax.numpy.array(self.array)
        return StageArray(self.shape, self.dtype, self.sharding, array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(replicate_everywhere(self), dtype=dtype, copy=copy)


def own_rank() -> int:
    """The rank of this process."""
    return int(jax.process_index())


def ranks_of(devices: Any) -> Ranks:
    """The processes that devices belong to."""
    return tuple(sorted({device.process_index for device in devices}))


def transfer(value: Any, wanted: Any) -> StageArray:
    """Transfer a replicated value or a value of a stage to the `wanted` sharding."""
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
    """Replicate a stage value in every process, all of which must call it; others are unchanged.

    The result is new memory, which the caller may write.
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
    """The shards of a value that this process needs, after all processes have sent theirs."""
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
    """The shards on the devices of this process; waits for their computation."""
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
    """The senders of the boxes that a process needs; boxes that it holds come from itself.

    If several processes hold a box, readers are distributed over them.
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
    """Slice a box out of the shard that contains it."""
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
    """The program that sends bytes from one process to another, cached per mesh."""
    ranks = _pair(sender, reader)
    way = [(ranks.index(sender), ranks.index(reader))]

    def message_between_stages(raw: Any) -> Any:
        return jax.lax.ppermute(raw, AXIS, way)

    return MultiProcessProgram(message_between_stages, ranks, is_whole=False)


def rows_of_all(rows: Any) -> np.ndarray:
    """Gather the rows of all processes, in the order of ranks, in every process."""
    own = np.ascontiguousarray(rows)
    ranks = tuple(range(world().size))
    every = np.asarray(_telling(ranks, mesh_of(ranks))(own.reshape(-1).view(np.uint8)))
    return every.reshape(-1).view(own.dtype).reshape(len(ranks) * own.shape[0], *own.shape[1:])


@cache
def _telling(ranks: Ranks, mesh: Any) -> Callable[..., Any]:
    """The all-gather program for bytes, cached per mesh."""

    def batch_of_all(raw: Any) -> Any:
        return jax.lax.all_gather(raw, AXIS)

    return MultiProcessProgram(batch_of_all, ranks, is_whole=False)
