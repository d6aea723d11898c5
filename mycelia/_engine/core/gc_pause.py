"""Python's garbage collector, stopped for a while."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Let nothing look for garbage meanwhile.

    Where very many objects are made and kept, it looks through all of them again and again, which
    takes a third of the time, and finds nothing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
