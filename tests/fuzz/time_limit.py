"""A limit on the time that a block of code takes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooSlow(BaseException):
    """The block took longer than it may; not an Exception, so that no check takes it for one."""


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise TooSlow where the block takes longer than `seconds`."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"takes more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
