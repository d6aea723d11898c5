"""Data on its way to the device, ahead of the program that needs it."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import jax
import numpy as np

LARGE = 1 << 14  # numbers; smaller arrays of the host are handed over with each call
_ALIGNMENT = 64  # bytes: at such an address the CPU device reads an array where it lies


@cache
def _is_cpu() -> bool:
    return jax.default_backend() == "cpu"


def is_in_place(array: np.ndarray) -> bool:
    """Whether programs read this array of the host without a copy."""
    return (
        _is_cpu()
        and array.flags.c_contiguous
        and array.__array_interface__["data"][0] % _ALIGNMENT == 0
    )


def on_device(array: np.ndarray, *, owned: bool) -> Any:
    """An array where programs find it; small ones stay with the host, which is faster for them.

    An array that is not `owned`, so that others may change it, is copied.
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
    """An array of any content; programs on the CPU read a large one where it lies."""
    count = prod(shape)
    if count < LARGE:
        return np.empty(shape, kind)
    size = count * kind.itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    begin = -memory.__array_interface__["data"][0] % _ALIGNMENT
    return memory[begin : begin + size].view(kind).reshape(shape)
