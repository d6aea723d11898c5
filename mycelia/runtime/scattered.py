"""Arrays that pipelines left on the devices of their stages, for programs of one device.

If the stages belong to several processes, all of these must run the program: each gets its copy.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax

from mycelia.runtime.pipeline.crossing import Staged, everywhere
from mycelia.runtime.xla.keeping import one


class Scattered:
    """Whether some tensors live on devices of their own."""

    present: ClassVar[bool] = False


def together(arrays: Any) -> Any:
    """Arrays (in lists or tuples) on the device where programs run; those that are, untouched."""
    home = one().devices()
    (device,) = home

    def moved(array: Any) -> Any:
        if isinstance(array, Staged):
            return jax.device_put(everywhere(array), device)
        if not isinstance(array, jax.Array) or array.devices() == home:
            return array
        return jax.device_put(array, device)

    return jax.tree.map(moved, arrays)
