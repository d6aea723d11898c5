"""LSTM layers by kernels of our own, for batches that are large enough to share among cores.

XLA starts and ends each product of each moment on all cores, and writes what the gates are made of
to memory. The kernels give each core its own sequences for all moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels import native
from mycelia._engine.operators.device import on_cpu

_LEAST = 4  # sequences for a core


def are_fitting(x: Array, h: Array, *others: Array | None) -> bool:
    """Whether there are kernels for an input, a state and more arrays of the same kind."""
    if not on_cpu() or any(a.dtype != jnp.float32 for a in _present(x, h, *others)):
        return False
    batch, features = h.shape
    lanes = native.lanes() if x.size else 0
    return bool(lanes) and features % lanes == 0 and batch >= _LEAST * native.parts()


def forward(
    x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None
) -> tuple[Any, ...]:
    """Outputs, the last state, and what is kept: gates and cells of all moments."""
    moments, batch, inputs = x.shape
    rows, features = w_hh.shape
    gates, lanes = rows // features, native.lanes()
    weights = jnp.concatenate([w_ih, w_hh], axis=1)
    panels = weights.reshape(gates, features // lanes, lanes, inputs + features)
    bias = sum(_present(b_ih, b_hh), jnp.zeros(rows, x.dtype))
    state = (moments, batch, features)
    shapes = native.arrays(state, state, (moments, batch, gates, features))
    given = x, h, c, panels.transpose(1, 3, 0, 2), bias
    outputs, cells, kept = native.call("lstm_forward", shapes, *given)
    return outputs, outputs[-1], cells[-1], (kept, cells)


def backward(
    c: Array, w_hh: Array, kept: Sequence[Array], d_outputs: Array, d_last: Sequence[Array]
) -> tuple[Any, ...]:
    """The gradients of the first state, of gates (gates x features, moments, batch), of a bias."""
    moments, batch, features = d_outputs.shape
    rows = w_hh.shape[0]
    shapes = native.arrays(
        (rows, moments, batch),
        (batch, features),
        (batch, features),
        (native.parts(), rows),
        (batch, rows),
    )
    given = c, w_hh, *kept, d_outputs, *d_last
    found = native.call("lstm_backward", shapes, *given)
    by_gate, d_hidden, d_cell, sums, _ = found
    return (d_hidden, d_cell), by_gate, sums.sum(0)


def _present(*arrays: Array | None) -> list[Array]:
    return [array for array in arrays if array is not None]
