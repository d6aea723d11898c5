"""Where programs run, for operators whose fastest form depends on it."""

from __future__ import annotations

from mycelia.ops.engine import jax


def on_cpu() -> bool:
    """Whether programs run on CPU.

    The special forms of convolutions, pooling and sums were measured there. Other devices get the
    plain XLA forms, which their compilers know.
    """
    return jax.default_backend() == "cpu"
