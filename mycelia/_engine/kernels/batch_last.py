"""The batch-last layout: when it is used, and conversions to and from it.

Measured on CPU (LeNet, batch 32): XLA turns elementwise operators, pooling, and copies into loops
that are only fast along the innermost axis. With few channels or small images that axis is short,
and the loops are scalar. The batch is long, so with it innermost they use vector instructions.
Transposes between neighboring operators cancel inside a compiled graph. With several devices the
batch stays outermost, where it can be sharded.
"""

from __future__ import annotations

from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.device import on_cpu

_FEW_CHANNELS = 16
_LARGE_BATCH = 8


def prefers_batch_last(shape: Shape) -> bool:
    """Whether images of `shape` (batch, channels, *spatial) are computed in batch-last layout."""
    return (
        on_cpu()
        and jax.device_count() == 1
        and len(shape) > 2
        and shape[0] >= _LARGE_BATCH
        and 0 < shape[1] <= _FEW_CHANNELS
    )


def batch_last(x: Array) -> Array:
    """(batch, channels, *spatial) as (channels, *spatial, batch)."""
    return jnp.moveaxis(x, 0, -1)


def batch_first(x: Array) -> Array:
    """(channels, *spatial, batch) as (batch, channels, *spatial)."""
    return jnp.moveaxis(x, -1, 0)
