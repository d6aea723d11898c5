"""Moves arrays from the devices of pipeline stages to the default device.

If the stages belong to several processes, all of them must take part, and each receives a copy.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax

from mycelia._engine.runtime.distributed.stage_transfer import StageArray, replicate_everywhere
from mycelia._engine.runtime.xla.materialization import runtime_one


class StageArraysFlag:
    """Whether some tensors are on devices of pipeline stages."""

    present: ClassVar[bool] = False


def move_to_default_device(arrays: Any) -> Any:
    """Move arrays (in lists or tuples) to the default device, unless they are already there."""
    home = runtime_one().devices()
    (device,) = home

    def moved(array: Any) -> Any:
        if isinstance(array, StageArray):
            return jax.device_put(replicate_everywhere(array), device)
        if not isinstance(array, jax.Array) or array.devices() == home:
            return array
        return jax.device_put(array, device)

    return jax.tree.map(moved, arrays)
