"""Pausing Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection, for code that creates very many long-lived objects.

    The collector would scan all of them again and again, which takes a third of the time and finds
    no garbage.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
