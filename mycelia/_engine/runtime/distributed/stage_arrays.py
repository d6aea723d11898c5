"""Arrays that pipelines left on the devices of their stages, for programs of one device.

If the stages belong to several processes, all of these must run the program: each gets its copy.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax

from mycelia._engine.runtime.distributed.stage_transfer import StageArray, replicate_everywhere
from mycelia._engine.runtime.xla.materialization import runtime_one


class StageArraysFlag:
    """Whether some tensors live on devices of their own."""

    present: ClassVar[bool] = False


def move_to_default_device(arrays: Any) -> Any:
    """Arrays (in lists or tuples) on the device where programs run; those that are, untouched."""
    home = runtime_one().devices()
    (device,) = home

    def moved(array: Any) -> Any:
        if isinstance(array, StageArray):
            return jax.device_put(replicate_everywhere(array), device)
        if not isinstance(array, jax.Array) or array.devices() == home:
            return array
        return jax.device_put(array, device)

    return jax.tree.map(moved, arrays)
