"""Saving whole arrays that processes hold parts of: gathered by all, written by one."""

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
    """Write whole tensors and texts to a file, as `content` makes its bytes.

    If some arrays are not all here, every process must take part, and all learn whether it worked
    unless it is written `later`. Else each process writes for itself.
    """
    together = needs_all_processes(named)
    writes = _is_writer(path) if together else True
    if together or later:
        named = _gathered(named, keep=writes)
    if later:
        if writes:
            write_later(path, content(named))
    elif together:
        write = partial(write_atomically, path, content(named)) if writes else _nothing
        tell_failures(write, "the file")
    else:
        write_atomically(path, content(named))


def needs_all_processes(named: Named) -> bool:
    """Whether some arrays are not all here: then all processes must take part in saving them."""
    return any(array_residency(t._data) not in _COPIES for _, t in named if isinstance(t, Tensor))


def _gathered(named: Named, keep: bool) -> list[tuple[str, Any]]:
    """All numbers of tensors as they are now, one tensor after the other; dropped unless kept.

    They are read where they are: a parameter that moves to the host is rounded differently there.
    """
    found = []
    for name, tensor in named:
        numbers = tensor if isinstance(tensor, str) else Tensor(np.array(tensor, copy=True))
        if keep:
            found.append((name, numbers))
    return found


def _is_writer(path: Path) -> bool:
    """Whether this process writes the file: only the first one, if all mean the same place."""
    told = gather_from_all("save_checkpoint", fingerprint(str(path.absolute())))
    return world().rank == 0 or bool((told != told[0]).any())


def _nothing() -> None:
    """What a process does that does not write."""
