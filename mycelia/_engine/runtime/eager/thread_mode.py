"""The mode of the current thread: plain execution, recording on a tape, or tracing."""

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
    """`recording` is the tape of operator calls; `inline` lowers them into an XLA trace.

    `quietly` runs a host kernel. `at_once` is the same while calls are neither recorded nor
    lowered, else None, so that the fast path of dispatch needs a single lookup.
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
        """A C-level callable that restores the current mode: no interruption can split or skip it.

        An interruption at the end of a `recording_on_tape` block may skip the restoration there.
        """
        now = {"recording": self.recording, "inline": self.inline, "at_once": self.at_once}
        return partial(vars(self).update, now)


def _quiet_context() -> Context:
    """A context in which NumPy does not warn: NaN and inf propagate, as on the device."""
    context = copy_context()
    context.run(np.seterr, all="ignore")
    return context


thread_mode = ThreadMode()


@contextmanager
def recording_on_tape(recording: Tape | None) -> Iterator[None]:
    """Record on the tape `recording` inside the block; None disables recording."""
    before = thread_mode.recording
    thread_mode.set(recording, thread_mode.inline)
    try:
        yield
    finally:
        thread_mode.set(before, thread_mode.inline)


@contextmanager
def inlined() -> Iterator[None]:
    """Lower operators called inside the block into the XLA program being traced."""
    before = thread_mode.recording, thread_mode.inline
    thread_mode.set(None, inline=True)
    try:
        yield
    finally:
        thread_mode.set(*before)
