"""Drawing the row order of each epoch from sampler nodes, as arrays of row indices."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats.labels import labels_of
from mycelia.dataset.formats.reader import ObjectReader, RowReader
from mycelia.dataset.ir import samplers as S
from mycelia.dataset.runtime.randomness import generator

Random = Callable[[], np.random.Generator]


def draw(
    sampler: S.SamplerNode, reader: RowReader, seed: int, epoch: int, common: int
) -> np.ndarray:
    """The row indices of one epoch, in order; all shards draw from `common`."""
    is_shard_of_files = isinstance(sampler, S.InterleavedFilesNode) and sampler.num_shards > 1
    if is_shard_of_files or isinstance(sampler, S.DistributedSamplerNode):
        seed = common
    if sampler.child is not None:
        below = draw(sampler.child, reader, seed, epoch, common)
    else:
        below = np.arange(len(reader))
    fixed = isinstance(sampler, S.RandomSamplerNode) and not sampler.reshuffle_each_epoch
    chosen = choose(
        sampler, len(below), lambda: generator(seed, sampler.number, 0 if fixed else epoch), reader
    )
    if sampler.num_samples:
        chosen = chosen[: sampler.num_samples]
    if isinstance(sampler, S.UserSamplerNode) and sampler.child is None and _finds_rows(reader):
        return chosen
    if len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(below)):
        raise problem(
            RuntimeError,
            f"{sampler.sampler_name}: row index out of range",
            got=f"rows {chosen.min()} to {chosen.max()}",
            expected=f"rows 0 to {len(below) - 1}",
        )
    return below[chosen]


def _finds_rows(reader: RowReader) -> bool:
    """Whether the source itself determines the valid row indices."""
    return isinstance(reader, ObjectReader)


def as_contiguous_shards(sampler: S.SamplerNode) -> S.SamplerNode:
    """The same shards, each a range of consecutive rows instead of every n-th one."""
    if not isinstance(sampler, S.DistributedSamplerNode):
        return sampler
    return S.InterleavedFilesNode(
        num_shards=sampler.num_shards,
        shard_id=sampler.shard_id,
        num_samples=sampler.num_samples,
        number=sampler.number,
        child=S.RandomSamplerNode(child=sampler.child) if sampler.shuffle else sampler.child,
    )


class RunSamplers:
    """The samplers of one run: user samplers are copied and reset after each epoch."""

    def __init__(self, sampler: S.SamplerNode) -> None:
        self._given = sampler
        self._now = _copied(sampler)
        self._turn = 0

    def at(self, turn: int) -> S.SamplerNode:
        """The samplers in their state for an epoch."""
        if turn < self._turn:
            self._now, self._turn = _copied(self._given), 0
        while self._turn < turn and _resettable(self._now):
            for source in _resettable(self._now):
                source.reset()
            self._turn += 1
        return self._now


def _copied(sampler: S.SamplerNode) -> S.SamplerNode:
    child = None if sampler.child is None else _copied(sampler.child)
    if isinstance(sampler, S.UserSamplerNode) and sampler.resets:
        return replace(sampler, child=child, source=copy(sampler.source))
    return sampler if child is None else replace(sampler, child=child)


def _resettable(sampler: S.SamplerNode | None) -> list[Any]:
    """The user samplers that `reset` changes."""
    found = []
    while sampler is not None:
        if isinstance(sampler, S.UserSamplerNode) and sampler.resets:
            found.append(sampler.source)
        sampler = sampler.child
    return found


@singledispatch
def choose(sampler: S.SamplerNode, size: int, random: Random, reader: RowReader) -> np.ndarray:
    """Row indices below `size` in the order of `sampler`."""
    raise NotImplementedError(type(sampler).__name__)


@choose.register
def _(sampler: S.SequentialSamplerNode, size: int, random: Random, reader: RowReader) -> np.ndarray:
    if sampler.start_index >= max(size, 1):
        raise problem(
            RuntimeError,
            "SequentialSampler: start_index is out of range",
            got=str(sampler.start_index),
            expected=f"less than the number of rows, {size}",
        )
    return np.arange(sampler.start_index, size)


@choose.register
def _(sampler: S.RandomSamplerNode, size: int, random: Random, reader: RowReader) -> np.ndarray:
    if sampler.replacement:
        return random().integers(0, size, sampler.num_samples or size)
    return random().permutation(size)


@choose.register
def _(
    sampler: S.DistributedSamplerNode, size: int, random: Random, reader: RowReader
) -> np.ndarray:
    order = random().permutation(size) if sampler.shuffle else np.arange(size)
    count = sampler.count_of(size)
    if sampler.offset == -1:
        positions = sampler.shard_id + np.arange(count) * sampler.num_shards
        return order[positions % max(size, 1)]
    dealt = order[sampler.first :: sampler.num_shards]
    return dealt if len(dealt) else order[:1]


@choose.register
def _(sampler: S.PKSamplerNode, size: int, random: Random, reader: RowReader) -> np.ndarray:
    labels = labels_of(reader, sampler.class_column)[:size]
    draws = random()
    rows = {label: np.flatnonzero(labels == label) for label in np.unique(labels)}
    kept = list(rows)[: sampler.num_class]
    if sampler.shuffle:
        kept = [kept[i] for i in draws.permutation(len(kept))]
    picked = [
        draws.choice(rows[label], sampler.num_val, replace=len(rows[label]) < sampler.num_val)
        for label in kept
    ]
    return np.concatenate(picked) if picked else np.arange(0)


@choose.register
def _(sampler: S.SubsetSamplerNode, size: int, random: Random, reader: RowReader) -> np.ndarray:
    rows = np.array(sampler.indices, np.int64)
    return random().permutation(rows) if sampler.shuffle else rows


@choose.register
def _(sampler: S.WeightedSamplerNode, size: int, random: Random, reader: RowReader) -> np.ndarray:
    weights = np.array(sampler.weights, np.float64)
    count = sampler.num_samples or len(weights)
    return random().choice(len(weights), count, sampler.replacement, weights / weights.sum())


@choose.register
def _(sampler: S.UserSamplerNode, size: int, random: Random, reader: RowReader) -> np.ndarray:
    sampler.tell(size)
    rows = [_row_number(index) for index in sampler.source]
    count = sampler.declared_count()
    if count is None:
        return np.array(rows, np.int64)
    if not 0 < count <= len(rows):
        raise problem(
            RuntimeError,
            "sampler: the number of rows differs from the declared one",
            got=f"{len(rows)} rows",
            expected=f"{count}, by its num_samples or __len__",
        )
    return np.array(rows[:count], np.int64)


def _row_number(index: Any) -> int:
    if not isinstance(index, (int, np.integer)):
        raise problem(
            RuntimeError, "sampler: a row index must be an int", got=repr(index), expected="an int"
        )
    return int(index)


@choose.register
def _(sampler: S.FileOrderNode, size: int, random: Random, reader: RowReader) -> np.ndarray:
    """Row indices below `size`, file by file."""
    files = _files(sampler.sizes, size, reader)
    rest = np.arange(sum(map(len, files)), size)
    draws = random()
    if sampler.mixes_files:
        files = [files[position] for position in draws.permutation(len(files))]
    if sampler.mixes_rows:
        files = [draws.permutation(rows) for rows in files]
    return np.concatenate([*files, rest])


@choose.register
def _(sampler: S.InterleavedFilesNode, size: int, random: Random, reader: RowReader) -> np.ndarray:
    files = _files(sampler.sizes, size, reader)
    if sampler.mixes_files:
        files = [files[position] for position in random().permutation(len(files))]
    if sampler.equal_rows:
        return _interleaved(_equal_run(files, sampler.num_shards, sampler.shard_id), sampler.lanes)
    return _interleaved(files[sampler.shard_id :: sampler.num_shards], sampler.lanes)


@choose.register
def _(
    sampler: S.SharedInterleavedFilesNode, size: int, random: Random, reader: RowReader
) -> np.ndarray:
    files = _files(sampler.sizes, size, reader)
    if sampler.mixes_files:
        files = [files[position] for position in random().permutation(len(files))]
    count = len(files) // sampler.num_shards
    own = files[sampler.shard_id : count * sampler.num_shards : sampler.num_shards]
    each = (sampler.num_samples or 0) // count
    if any(len(rows) < each for rows in own):
        raise problem(
            RuntimeError,
            "num_samples: a compressed file has fewer rows than its share",
            got=f"{min(map(len, own))} rows",
            expected=f"{each}: num_samples={sampler.num_samples} over {count} files",
            fix="use a smaller num_samples, or take(...)",
        )
    return _interleaved([rows[:each] for rows in own], sampler.lanes)


def _files(sizes: tuple[int, ...] | None, size: int, reader: RowReader) -> list[np.ndarray]:
    """The row indices of each file."""
    told = sizes or getattr(reader, "file_sizes", [size])
    return [np.arange(end - count, end) for end, count in zip(np.cumsum(told), told)]


def _equal_run(files: list[np.ndarray], num_shards: int, shard_id: int) -> list[np.ndarray]:
    """The file slices of one of `num_shards` equal ranges of rows; the last ranges wrap around."""
    total = sum(map(len, files))
    each = -(-total // num_shards)
    start, end = shard_id * each, (shard_id + 1) * each
    turns = range(start // max(total, 1), -(-end // max(total, 1)))
    begins = np.cumsum([0, *map(len, files)])
    parts = [
        rows[max(start - total * turn - begin, 0) : max(end - total * turn - begin, 0)]
        for turn in turns
        for rows, begin in zip(files, begins.tolist())
    ]
    return [part for part in parts if len(part)]


def _interleaved(files: list[np.ndarray], lanes: int) -> np.ndarray:
    """Deal each file to the next lane; then take one row of each lane in turn."""
    queues = [files[lane::lanes] for lane in range(min(lanes, len(files)))]
    rows = [np.concatenate(queue) for queue in queues]
    if len(rows) < 2:
        return rows[0] if rows else np.arange(0)
    turns = np.concatenate([np.arange(len(queue)) for queue in rows])
    return np.concatenate(rows)[np.argsort(turns, kind="stable")]
