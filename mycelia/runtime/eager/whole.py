"""Calls of eager mode that write tensors as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from mycelia.core.indivisible import UndoLog
from mycelia.core.seed import drawing
from mycelia.ir.slot import slot
from mycelia.runtime.packs import out_of_packs

T = TypeVar("T")


def whole(run: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """What `run` returns; if it is interrupted or fails, all tensors hold what they held before.

    Inside another such call, and while a program is read, the outermost one counts.
    """
    if slot.before_write is not None:
        return run(*args, **kwargs)
    log = UndoLog((slot, "before_write", None))
    try:
        owner, name, _ = drawing()
        log.note(owner, name)
        slot.before_write = partial(_note, log)
        result = run(*args, **kwargs)
        log.forget()
        return result
    finally:
        log.undo()


def _note(log: UndoLog, tensor: Any) -> None:
    out_of_packs([tensor])
    log.note(tensor, "_data", "_shared")
