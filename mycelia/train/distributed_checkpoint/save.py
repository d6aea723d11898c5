"""Saving in parts: every process writes what its devices hold, and the first one the index."""

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
_GLANCE = 0.2  # seconds between looks for the files of other processes
_PATIENCE = 300  # seconds until they must be there, after that of the first
Named = Sequence[tuple[str, Any]]  # tensors and texts


def comes_in_parts(named: Named) -> bool:
    """Whether there are several parts at all: of arrays on several devices, or of processes."""
    return world().size > 1 or is_spread(named)


def is_spread(named: Named) -> bool:
    """Whether some arrays lie on several devices."""
    return any(is_on_several_devices(t._data) for _, t in named if isinstance(t, Tensor))


def save_parts(named: Named, own: Named, path: Path, *, later: bool) -> Path:
    """Save tensors and texts in parts, and what each process keeps of its `own`.

    All processes must call it, with tensors of the same names. They all learn whether it worked,
    unless the files are written `later`, in the background. Gives the file to wait for then.
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
    """The number of this save, which the first process chooses; all must save the same."""
    generation, error = 0, None
    if world().rank == 0:
        try:
            _wait_for_the_last(index)
            generation = next_generation(index)
        except OSError as found:
            generation, error = -1, found
    kinds = [
        [name, "text"] if isinstance(t, str) else [name, list(t.shape), str(t.dtype)]
        for name, t in named
    ]
    told = gather_from_all(_OWNER, [generation, *fingerprint([str(index.absolute()), kinds])])
    if (told[:, 1:] != told[0, 1:]).any():
        others = np.flatnonzero((told[:, 1:] != told[0, 1:]).any(axis=1)).tolist()
        raise problem(
            ValueError,
            f"{_OWNER}: the processes save different things, or in different places",
            got=f"ranks {others} differ from rank 0; here {len(named)} entries for {index}",
            expected="one folder for all, and the same names, shapes and dtypes",
            fix="save a whole file of each: save_checkpoint(..., integrated_save=True)",
        )
    if error is not None:
        raise error
    if told[0, 0] < 0:
        raise problem(OSError, f"{_OWNER}: rank 0 could not look into {index.parent}")
    return int(told[0, 0])


def _wait_for_the_last(index: Path) -> None:
    """Let an earlier save of the same checkpoint end that is under way in the background."""
    with busy():  # a wait that ends
        error = finish(index)
    if error is not None:
        logger.warning("%s could not be saved the last time: %s", index, error)


def fingerprint(facts: Any) -> list[int]:
    """Two numbers (int32) that are others for other facts."""
    digest = hashlib.sha256(json.dumps(facts).encode()).digest()
    return np.frombuffer(digest[:8], np.int32).tolist()


def _chosen(tensors: Sequence[tuple[str, Tensor]]) -> list[tuple[str, Shape, LocalShard]]:
    """The parts that this process writes, with names and whole shapes.

    Of what processes hold together, the first device with a part has its process write it. Of what
    each has a copy of its own, the first process with one writes it, on a device before the host.
    """
    held = [array_residency(tensor._data) for _, tensor in tensors]
    _check_private(tensors, held)
    all_held = gather_from_all(_OWNER, held) if tensors else np.empty((world().size, 0), int)
    best = all_held.max(axis=0)
    first = all_held.argmax(axis=0)  # the lowest rank with the best
    found = []
    for place, (name, tensor) in enumerate(tensors):
        if best[place] == ArrayResidency.SHARED:
            is_mine = held[place] is ArrayResidency.SHARED
        else:
            is_mine = first[place] == world().rank
        if is_mine:
            found += [(name, tensor.shape, part) for part in shards_to_write(tensor._data)]
    return found


def _check_private(tensors: Sequence[tuple[str, Tensor]], held: Sequence[ArrayResidency]) -> None:
    for (name, tensor), how in zip(tensors, held, strict=True):
        is_copy = how in (ArrayResidency.HOST, ArrayResidency.DEVICE)
        is_own = isinstance(tensor, Parameter) and tensor.layerwise_parallel
        if world().size > 1 and is_copy and is_own:
            raise problem(
                ValueError,
                f"{_OWNER}: {name} is of another meaning in each process (layerwise_parallel)",
                expected="parameters that processes hold parts of, or equal copies",
                fix="save a whole file of each, with a name of its own: integrated_save=True",
            )


def _write_together(index: Path, generation: int, file: Path, content: Iterator[bytes]) -> None:
    """All write, then the first one the index, when the files of all are there."""
    tell_failures(lambda: write_atomically(file, content), "its part")

    def complete() -> None:
        if world().rank == 0:
            write_index(index, generation, world().size)

    tell_failures(complete, "the index")


def tell_failures(write: Callable[[], None], what: str) -> None:
    """Write, and hear whether all others could: if one cannot, all raise OSError."""
    error: OSError | None = None
    try:
        with busy():  # what takes long, but ends: nobody is stuck meanwhile
            write()
    except OSError as found:
        error = found
    failed = np.flatnonzero(gather_from_all(_OWNER, [error is not None])[:, 0]).tolist()
    if error is not None:
        raise error
    if failed:
        raise problem(
            OSError,
            f"{_OWNER}: rank {failed[0]} could not write {what}",
            got=f"ranks {failed} failed",
            fix="look for the error of that rank: a full disk, or a folder it may not write to",
        )


def _begin(index: Path, generation: int, file: Path, content: Iterator[bytes]) -> Path:
    """Let a thread write the part of this process; in the first one, then the index."""
    if world().rank != 0:
        write_later(file, content)
        return file
    write_later(index, _parts_then_index(index, generation, file, content, world().size))
    return index


def _parts_then_index(
    index: Path, generation: int, file: Path, content: Iterator[bytes], processes: int
) -> Iterator[bytes]:
    """The bytes of the index, once the files of all processes are there.

    A thread cannot meet other processes, for they may be at another meeting; it looks at files.
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
                    f"{_OWNER}: the part of rank {rank} did not come",
                    got=f"no {other} after {_PATIENCE} s",
                )
            time.sleep(_GLANCE)
    yield made(index, generation, processes).content()
