"""Atomic eager calls: either all tensor writes of a call take effect, or none."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from mycelia._engine.core.atomic_assignment import UndoLog
from mycelia._engine.core.seed import drawing
from mycelia._engine.ir.handlers import handlers
from mycelia._engine.runtime.parameter_layout.packs import unpack_parameters

T = TypeVar("T")


def run_atomically(run: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call `run`; if it is interrupted or fails, all tensors are restored.

    Of nested calls, the outermost one restores; while tracing, none does.
    """
    if handlers.before_write is not None:
        return run(*args, **kwargs)
    log = UndoLog((handlers, "before_write", None))
    try:
        owner, name, _ = drawing()
        log.note(owner, name)
        handlers.before_write = partial(_note, log)
        result = run(*args, **kwargs)
        log.forget()
        return result
    finally:
        log.undo()


def _note(log: UndoLog, tensor: Any) -> None:
    unpack_parameters([tensor])
    log.note(tensor, "_data", "_shared")
