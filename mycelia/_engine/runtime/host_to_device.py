"""Transfer of host arrays to the device, ahead of the program that needs them."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import jax
import numpy as np

LARGE = 1 << 14  # elements; smaller host arrays are transferred with each call
_ALIGNMENT = 64  # bytes; the CPU device reads arrays with this alignment in place


@cache
def _is_cpu() -> bool:
    return jax.default_backend() == "cpu"


def is_in_place(array: np.ndarray) -> bool:
    """Whether programs read this host array without a copy."""
    return (
        _is_cpu()
        and array.flags.c_contiguous
        and array.__array_interface__["data"][0] % _ALIGNMENT == 0
    )


def on_device(array: np.ndarray, *, owned: bool) -> Any:
    """Move an array to the device; small ones stay on the host, which is faster for them.

    An array that is not `owned`, so that user code may change it, is copied.
    """
    if array.size < LARGE:
        return array
    if not _is_cpu():
        return jax.device_put(array) if owned else jax.numpy.array(array)
    if owned and is_in_place(array):
        return array
    copy = aligned(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy


def aligned(shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray:
    """An uninitialized array; programs on the CPU read a large one in place."""
    count = prod(shape)
    if count < LARGE:
        return np.empty(shape, kind)
    size = count * kind.itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    begin = -memory.__array_interface__["data"][0] % _ALIGNMENT
    return memory[begin : begin + size].view(kind).reshape(shape)
