"""Whether parameters are on the host or the device, where operators round differently."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mycelia._engine.runtime.executor import state_array
from mycelia.nn.cell import Cell

_ALIGNMENT = 64  # bytes; the CPU device uses arrays at such addresses without a copy
_OFFSET = 16


def on_host(network: Cell) -> list[str]:
    """The names of the parameters whose arrays are on the host."""
    return [p.name for p in network.get_parameters() if type(p._data) is np.ndarray]


def move_to_device(network: Cell, staying: Collection[str]) -> None:
    """Move parameters to the device, except for `staying`."""
    for parameter in network.get_parameters():
        array = parameter._data
        if parameter.name not in staying and type(array) is np.ndarray:
            parameter._replace(_off_alignment(array))
            state_array(parameter)


def _off_alignment(array: np.ndarray) -> np.ndarray:
    """A copy that is not aligned, so that the device must copy it."""
    memory = np.empty(array.nbytes + 2 * _ALIGNMENT, np.uint8)
    begin = -memory.__array_interface__["data"][0] % _ALIGNMENT + _OFFSET
    copy = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    np.copyto(copy, array)
    return copy
