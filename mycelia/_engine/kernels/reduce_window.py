"""XLA's own window reductions, for devices other than CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, jax, lax
from mycelia._engine.operators.device import on_cpu
from mycelia._engine.operators.window import Window


def is_plain(window: Window) -> bool:
    """Whether to use XLA's own operation, whose gradient does not support dilation."""
    return not on_cpu() and max(window.dilation) == 1


def plain_largest(x: Array, window: Window) -> Array:
    """The maximum of each window."""
    return lax.reduce_window(x, np.asarray(-np.inf, x.dtype), lax.max, *_sizes(x.shape, window))


def plain_largest_gradient(x: Array, dout: Array, window: Window) -> Array:
    """The gradient of `plain_largest`."""
    return jax.vjp(lambda a: plain_largest(a, window), x)[1](dout)[0]


def plain_sum(x: Array, window: Window) -> Array:
    """The sum of each window."""
    return lax.reduce_window(x, np.zeros((), x.dtype), lax.add, *_sizes(x.shape, window))


def plain_sum_gradient(dout: Array, window: Window, shape: Shape) -> Array:
    """The gradient of `plain_sum` for an input of `shape`."""
    spec = jax.ShapeDtypeStruct(shape, dout.dtype)
    return jax.linear_transpose(lambda a: plain_sum(a, window), spec)(dout)[0]


def _sizes(shape: Shape, window: Window) -> tuple[Any, ...]:
    """Window, strides, and padding over all axes of an array of `shape`."""
    lead = len(shape) - window.rank
    ones, pads = (1,) * lead, ((0, 0),) * lead
    whole = (*pads, *window.padding(shape[lead:]))
    return (*ones, *window.kernel), (*ones, *window.strides), whole
