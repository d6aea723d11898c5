"""The device that programs run on, for operators whose fastest kernel depends on it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from mycelia._engine.core.settings import selects_kernels
from mycelia._engine.jax_setup import jax


class _LoweringOptions(threading.local):
    plain = False
    joined = False


_OPTIONS = _LoweringOptions()


def on_cpu() -> bool:
    """Whether operators use the kernels that were measured to be fastest on CPU.

    Other devices use the reference implementations in XLA, which their compilers optimize; so does
    `set_context(kernel_selection=False)`, and tracing inside `reference_implementations`.
    """
    return not _OPTIONS.plain and jax.default_backend() == "cpu" and selects_kernels()


def drops_barriers() -> bool:
    """Whether XLA removes optimization barriers and computes nothing twice, as it does on CPU."""
    return jax.default_backend() == "cpu" and selects_kernels()


def joins_products() -> bool:
    """Whether XLA fuses products with the loops after them in the program being traced."""
    return _OPTIONS.joined and on_cpu()


def joined_products() -> AbstractContextManager[None]:
    """Trace operators, in this thread, for a program that `joins_products`."""
    return _enabled("joined")


def reference_implementations() -> AbstractContextManager[None]:
    """Trace operators, in this thread, with their reference implementations in XLA.

    XLA can shard those over devices, but not tiles and tricks made for one processor.
    """
    return _enabled("plain")


@contextmanager
def _enabled(kind: str) -> Iterator[None]:
    before = getattr(_OPTIONS, kind)
    setattr(_OPTIONS, kind, True)
    try:
        yield
    finally:
        setattr(_OPTIONS, kind, before)
