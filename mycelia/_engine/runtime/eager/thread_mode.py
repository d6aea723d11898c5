"""What the current thread is doing: nothing special, recording, or tracing a program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mycelia._engine.runtime.eager.tape import Tape


class ThreadMode(threading.local):
    """`recording` collects operator calls for gradients; `inline` lowers them into a trace.

    `quietly` runs a numpy kernel; `at_once` is the same while calls are neither recorded nor
    lowered, else None: one look for the shortest way of calling an operator.
    """

    recording: Tape | None = None
    inline: bool = False

    def __init__(self) -> None:
        self.quietly: Callable[..., Any] = _quiet_context().run
        self.at_once: Callable[..., Any] | None = self.quietly

    def set(self, recording: Tape | None, inline: bool) -> None:
        self.recording, self.inline = recording, inline
        self.at_once = self.quietly if recording is None and not inline else None

    def back(self) -> Callable[[], None]:
        """A call of C code that sets this as it is now: no interruption can split or skip it.

        What interrupts the end of a block of `recording_on_tape` may skip the way back there.
        """
        now = {"recording": self.recording, "inline": self.inline, "at_once": self.at_once}
        return partial(vars(self).update, now)


def _quiet_context() -> Context:
    """A context in which numpy does not warn: nan and inf flow through, as on the device."""
    context = copy_context()
    context.run(np.seterr, all="ignore")
    return context


thread_mode = ThreadMode()


@contextmanager
def recording_on_tape(recording: Tape | None) -> Iterator[None]:
    """Record into `recording` (None: into nothing) inside the block."""
    before = thread_mode.recording
    thread_mode.set(recording, thread_mode.inline)
    try:
        yield
    finally:
        thread_mode.set(before, thread_mode.inline)


@contextmanager
def inlined() -> Iterator[None]:
    """Operators called inside the block become part of the XLA program being traced."""
    before = thread_mode.recording, thread_mode.inline
    thread_mode.set(None, inline=True)
    try:
        yield
    finally:
        thread_mode.set(*before)
