"""Where programs run, for operators whose fastest form depends on it."""

from __future__ import annotations

from mycelia.core.settings import selects_kernels
from mycelia.ops.engine import jax


def on_cpu() -> bool:
    """Whether operators take the special forms that were measured on CPU.

    Other devices get the plain XLA forms, which their compilers know; so does everyone who asks for
    them with `set_context(kernel_selection=False)`.
    """
    return jax.default_backend() == "cpu" and selects_kernels()
