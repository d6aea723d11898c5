"""Where programs run, for operators whose fastest form depends on it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from mycelia._engine.core.settings import selects_kernels
from mycelia._engine.jax_setup import jax


class _LoweringOptions(threading.local):
    plain = False
    joined = False


_FORMS = _LoweringOptions()


def on_cpu() -> bool:
    """Whether operators take the special forms that were measured on CPU.

    Other devices get the plain XLA forms, which their compilers know; so does everyone who asks for
    them with `set_context(kernel_selection=False)`, and programs inside of
    `reference_implementations`.
    """
    return not _FORMS.plain and jax.default_backend() == "cpu" and selects_kernels()


def drops_barriers() -> bool:
    """Whether the engine takes barriers away and computes nothing twice, as XLA does on CPU."""
    return jax.default_backend() == "cpu" and selects_kernels()


def joins_products() -> bool:
    """Whether the program is one in which XLA computes products along with the loops after them."""
    return _FORMS.joined and on_cpu()


def joined_products() -> AbstractContextManager[None]:
    """Operators traced inside, in this thread, are for a program that `joins_products`."""
    return _forms("joined")


def reference_implementations() -> AbstractContextManager[None]:
    """Operators traced inside, in this thread, take the plain XLA forms.

    XLA knows how to cut those over devices; tiles and tricks made for one processor it does not.
    """
    return _forms("plain")


@contextmanager
def _forms(kind: str) -> Iterator[None]:
    before = getattr(_FORMS, kind)
    setattr(_FORMS, kind, True)
    try:
        yield
    finally:
        setattr(_FORMS, kind, before)
