"""Where parameters live, with the host or on the device: operators round differently there."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mycelia._engine.runtime.executor import state_array
from mycelia.nn.cell import Cell

_ALIGNMENT = 64  # bytes: what lies at such an address, the CPU device reads without taking it over
_OFFSET = 16


def on_host(network: Cell) -> list[str]:
    """The names of the parameters whose arrays are with the host."""
    return [p.name for p in network.get_parameters() if type(p._data) is np.ndarray]


def move_to_device(network: Cell, staying: Collection[str]) -> None:
    """Give the parameters to the device, but for those that stay with the host."""
    for parameter in network.get_parameters():
        array = parameter._data
        if parameter.name not in staying and type(array) is np.ndarray:
            parameter._replace(_off_alignment(array))
            state_array(parameter)


def _off_alignment(array: np.ndarray) -> np.ndarray:
    """A copy that the device cannot read where it lies."""
    memory = np.empty(array.nbytes + 2 * _ALIGNMENT, np.uint8)
    begin = -memory.__array_interface__["data"][0] % _ALIGNMENT + _OFFSET
    copy = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy
