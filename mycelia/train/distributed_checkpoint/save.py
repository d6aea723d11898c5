"""Saving sharded checkpoints: every process writes its shards, and rank 0 the index."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.core.process_groups import world
from mycelia._engine.core.shape import Shape
from mycelia._engine.core.wait_registry import busy
from mycelia._engine.core.warn_once import logger
from mycelia._engine.runtime.distributed.sharded_arrays import (
    ArrayResidency,
    LocalShard,
    array_residency,
    gather_from_all,
    is_on_several_devices,
    shards_to_write,
)
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train.background_writer import finish, write_later
from mycelia.train.distributed_checkpoint.index import (
    index_path,
    made,
    next_generation,
    part_path,
    remove_older,
    write_index,
)
from mycelia.train.distributed_checkpoint.part_file import encode
from mycelia.train.safetensors_format import checked_dtype

_OWNER = "save_checkpoint"
_GLANCE = 0.2  # seconds between checks for the files of other processes
_PATIENCE = 300  # timeout in seconds, after the file of rank 0
Named = Sequence[tuple[str, Any]]  # tensors and strings


def comes_in_parts(named: Named) -> bool:
    """Whether there are several shards: arrays on several devices, or several processes."""
    return world().size > 1 or is_spread(named)


def is_spread(named: Named) -> bool:
    """Whether some arrays are on several devices."""
    return any(is_on_several_devices(t._data) for _, t in named if isinstance(t, Tensor))


def save_parts(named: Named, own: Named, path: Path, *, later: bool) -> Path:
    """Save tensors and strings as shards, and the private entries `own` of each process.

    All processes must call it, with tensors of the same names. They all learn whether it
    succeeded, unless the files are written `later`, in the background. Returns the file to wait
    for.
    """
    index = index_path(path)
    texts = {name: text for name, text in named if isinstance(text, str)}
    tensors = [(name, tensor) for name, tensor in named if not isinstance(tensor, str)]
    for name, tensor in tensors:
        checked_dtype(name, tensor._data.dtype.name)
    generation = _agreed_generation(index, named)
    parts = _chosen(tensors)
    private = [(name, np.array(tensor)) for name, tensor in own]
    if later:
        parts = [(name, whole, part.copied()) for name, whole, part in parts]
    rank, size = world().rank, world().size
    content = encode(parts, private, texts if rank == 0 else {}, rank, size)
    file = part_path(index, rank, generation)
    if later:
        return _begin(index, generation, file, content)
    _write_together(index, generation, file, content)
    return index


def _agreed_generation(index: Path, named: Named) -> int:
    """The generation number of this save, chosen by rank 0; checks that all ranks save the same."""
    generation, error = 0, None
    if world().rank == 0:
        try:
            _wait_for_earlier(index)
            generation = next_generation(index)
        except OSError as caught:
            generation, error = -1, caught
    kinds = [
        [name, "text"] if isinstance(t, str) else [name, list(t.shape), str(t.dtype)]
        for name, t in named
    ]
    gathered = gather_from_all(_OWNER, [generation, *fingerprint([str(index.absolute()), kinds])])
    if (gathered[:, 1:] != gathered[0, 1:]).any():
        others = np.flatnonzero((gathered[:, 1:] != gathered[0, 1:]).any(axis=1)).tolist()
        raise problem(
            ValueError,
            f"{_OWNER}: the processes save different tensors, or to different paths",
            got=f"ranks {others} differ from rank 0; here {len(named)} entries for {index}",
            expected="one folder for all, and the same names, shapes and dtypes",
            fix="save one whole file per process: save_checkpoint(..., integrated_save=True)",
        )
    if error is not None:
        raise error
    if gathered[0, 0] < 0:
        raise problem(OSError, f"{_OWNER}: rank 0 could not read {index.parent}")
    return int(gathered[0, 0])


def _wait_for_earlier(index: Path) -> None:
    """Wait for an earlier background save of the same checkpoint."""
    with busy():  # the wait is bounded
        error = finish(index)
    if error is not None:
        logger.warning("the previous save of %s failed: %s", index, error)


def fingerprint(facts: Any) -> list[int]:
    """Two int32 numbers that differ for different values, with high probability."""
    digest = hashlib.sha256(json.dumps(facts).encode()).digest()
    return np.frombuffer(digest[:8], np.int32).tolist()


def _chosen(tensors: Sequence[tuple[str, Tensor]]) -> list[tuple[str, Shape, LocalShard]]:
    """The shards that this process writes, with names and whole shapes.

    Arrays that processes share are written by the process of the first device with each shard.
    Arrays that each process has a copy of are written by the first one, preferably from a device.
    each has a copy of its own, the first process with one writes it, on a device before the host.
    """
    residencies = [array_residency(tensor._data) for _, tensor in tensors]
    _check_private(tensors, residencies)
    all_of_them = (
        gather_from_all(_OWNER, residencies) if tensors else np.empty((world().size, 0), int)
    )
    best = all_of_them.max(axis=0)
    first = all_of_them.argmax(axis=0)  # the lowest rank with the best
    chosen = []
    for index, (name, tensor) in enumerate(tensors):
        if best[index] == ArrayResidency.SHARED:
            is_mine = residencies[index] is ArrayResidency.SHARED
        else:
            is_mine = first[index] == world().rank
        if is_mine:
            chosen += [(name, tensor.shape, part) for part in shards_to_write(tensor._data)]
    return chosen


def _check_private(
    tensors: Sequence[tuple[str, Tensor]], residencies: Sequence[ArrayResidency]
) -> None:
    for (name, tensor), residency in zip(tensors, residencies, strict=True):
        is_copy = residency in (ArrayResidency.HOST, ArrayResidency.DEVICE)
        is_own = isinstance(tensor, Parameter) and tensor.layerwise_parallel
        if world().size > 1 and is_copy and is_own:
            raise problem(
                ValueError,
                f"{_OWNER}: {name} differs between processes (layerwise_parallel)",
                expected="parameters that are sharded over processes, or identical copies",
                fix="save one whole file per process, with different names: integrated_save=True",
            )


def _write_together(index: Path, generation: int, file: Path, content: Iterator[bytes]) -> None:
    """Write all shards, then the index from rank 0."""
    tell_failures(lambda: write_atomically(file, content), "its shard")

    def complete() -> None:
        if world().rank == 0:
            write_index(index, generation, world().size)

    tell_failures(complete, "the index")


def tell_failures(write: Callable[[], None], what: str) -> None:
    """Write, and exchange whether all processes succeeded: if one fails, all raise OSError."""
    error: OSError | None = None
    try:
        with busy():  # slow, but bounded
            write()
    except OSError as caught:
        error = caught
    failed = np.flatnonzero(gather_from_all(_OWNER, [error is not None])[:, 0]).tolist()
    if error is not None:
        raise error
    if failed:
        raise problem(
            OSError,
            f"{_OWNER}: rank {failed[0]} could not write {what}",
            got=f"ranks {failed} failed",
            fix="check the error of that rank: a full disk, or missing write permission",
        )


def _begin(index: Path, generation: int, file: Path, content: Iterator[bytes]) -> Path:
    """Write the shard of this process in a thread; rank 0 then writes the index."""
    if world().rank != 0:
        write_later(file, content)
        return file
    write_later(index, _parts_then_index(index, generation, file, content, world().size))
    return index


def _parts_then_index(
    index: Path, generation: int, file: Path, content: Iterator[bytes], processes: int
) -> Iterator[bytes]:
    """The bytes of the index, once the shard files of all processes exist.

    The thread polls for files, because other processes may be in another collective.
    """
    remove_older(index)
    write_atomically(file, content)
    until = time.monotonic() + _PATIENCE
    for rank in range(1, processes):
        other = part_path(index, rank, generation)
        while not other.exists():
            if time.monotonic() > until:
                raise problem(
                    OSError,
                    f"{_OWNER}: rank {rank} has not written its shard",
                    got=f"no {other} after {_PATIENCE} s",
                )
            time.sleep(_GLANCE)
    yield made(index, generation, processes).content()
