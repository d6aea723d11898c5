"""LSTM layers by native kernels, for batches that are large enough to share among cores.

XLA starts and ends each product of each time step on all cores, and writes the inputs of the gates
to memory. The kernels give each core its own sequences for all time steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels import native
from mycelia._engine.operators.device import on_cpu

_LEAST = 4  # sequences per core


def are_fitting(x: Array, h: Array, *others: Array | None) -> bool:
    """Whether kernels exist for an input, a state, and more arrays of the same kind."""
    if not on_cpu() or any(a.dtype != jnp.float32 for a in _present(x, h, *others)):
        return False
    batch, features = h.shape
    lanes = native.lanes() if x.size else 0
    return bool(lanes) and features % lanes == 0 and batch >= _LEAST * native.parts()


def forward(
    x: Array, h: Array, c: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None
) -> tuple[Any, ...]:
    """The outputs, the last state, and the residuals: gates and cells of all time steps."""
    steps, batch, inputs = x.shape
    rows, features = w_hh.shape
    gates, lanes = rows // features, native.lanes()
    weights = jnp.concatenate([w_ih, w_hh], axis=1)
    panels = weights.reshape(gates, features // lanes, lanes, inputs + features)
    bias = sum(_present(b_ih, b_hh), jnp.zeros(rows, x.dtype))
    state = (steps, batch, features)
    shapes = native.arrays(state, state, (steps, batch, gates, features))
    operands = x, h, c, panels.transpose(1, 3, 0, 2), bias
    outputs, cells, gate_values = native.call("lstm_forward", shapes, *operands)
    return outputs, outputs[-1], cells[-1], (gate_values, cells)


def backward(
    c: Array, w_hh: Array, residuals: Sequence[Array], d_outputs: Array, d_last: Sequence[Array]
) -> tuple[Any, ...]:
    """The gradients of the first state, of gates (gates x features, time, batch), of the bias."""
    steps, batch, features = d_outputs.shape
    rows = w_hh.shape[0]
    shapes = native.arrays(
        (rows, steps, batch),
        (batch, features),
        (batch, features),
        (native.parts(), rows),
        (batch, rows),
    )
    operands = c, w_hh, *residuals, d_outputs, *d_last
    results = native.call("lstm_backward", shapes, *operands)
    by_gate, d_hidden, d_cell, sums, _ = results
    return (d_hidden, d_cell), by_gate, sums.sum(0)


def _present(*arrays: Array | None) -> list[Array]:
    return [array for array in arrays if array is not None]
