"""Saving whole arrays from shards: all processes gather them, and one writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.core.process_groups import world
from mycelia._engine.runtime.distributed.sharded_arrays import (
    ArrayResidency,
    array_residency,
    gather_from_all,
)
from mycelia.tensor.tensor import Tensor
from mycelia.train.background_writer import write_later
from mycelia.train.distributed_checkpoint.save import Named, fingerprint, tell_failures

_COPIES = (ArrayResidency.HOST, ArrayResidency.DEVICE)


def save_whole(
    path: Path, named: Named, content: Callable[[Named], Iterator[bytes]], *, later: bool
) -> None:
    """Write whole tensors and strings to a file, encoded by `content`.

    If some arrays are not fully on this process, all processes must take part, and learn whether
    it succeeded unless the file is written `later`. Otherwise each process writes separately.
    """
    together = needs_all_processes(named)
    writes = _is_writer(path) if together else True
    if together or later:
        named = _gathered(named, is_needed=writes)
    if later:
        if writes:
            write_later(path, content(named))
    elif together:
        write = partial(write_atomically, path, content(named)) if writes else _nothing
        tell_failures(write, "the file")
    else:
        write_atomically(path, content(named))


def needs_all_processes(named: Named) -> bool:
    """Whether some arrays have shards on other processes: then all must take part in saving."""
    return any(array_residency(t._data) not in _COPIES for _, t in named if isinstance(t, Tensor))


def _gathered(named: Named, is_needed: bool) -> list[tuple[str, Any]]:
    """The current values of all tensors, one after the other; discarded unless needed.

    They are read in place: a parameter that moves to the host is rounded differently there.
    """
    gathered = []
    for name, tensor in named:
        values = tensor if isinstance(tensor, str) else Tensor(np.array(tensor, copy=True))
        if is_needed:
            gathered.append((name, values))
    return gathered


def _is_writer(path: Path) -> bool:
    """Whether this process writes the file: only rank 0, if all ranks use the same path."""
    prints = gather_from_all("save_checkpoint", fingerprint(str(path.absolute())))
    return world().rank == 0 or bool((prints != prints[0]).any())


def _nothing() -> None:
    """The write of a process that does not write."""
