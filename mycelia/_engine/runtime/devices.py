"""Devices: discovery, and selection of the one that programs run on."""

from __future__ import annotations

import jax

from mycelia._engine.core import settings
from mycelia._engine.core.errors import problem
from mycelia._engine.core.warn_once import warn_once

_PLATFORMS = {"CPU": "cpu", "GPU": "gpu", "TPU": "tpu"}


def available() -> list[str]:
    """The device targets present on this machine, best first."""
    return [name for name in ("TPU", "GPU", "CPU") if all_of(name)]


def select(target: str, device_id: int = 0) -> str:
    """Select `target` for later programs; if it is missing, warn and use the best device."""
    here = available()
    if target not in here:
        if settings.current().strict_device:
            raise problem(
                RuntimeError,
                f"Unsupported device target {target}. This process only supports {here}.",
                fix="omit strict_device to run on the best available device",
            )
        warn_once(
            f"device_target={target!r} is not on this machine; running on {here[0]}. "
            "Pass strict_device=True to make this an error."
        )
        target, device_id = here[0], 0
    devices = all_of(target)
    if not 0 <= device_id < len(devices):
        raise problem(
            RuntimeError,
            f"there is no device {device_id} of kind {target}",
            got=f"device_id={device_id}",
            expected=f"0 to {len(devices) - 1}",
        )
    jax.config.update("jax_default_device", devices[device_id])
    return target


def all_of(target: str) -> list[jax.Device]:
    """The local devices of a platform, without those of other processes."""
    try:
        return jax.local_devices(backend=_PLATFORMS[target]) if target in _PLATFORMS else []
    except RuntimeError:  # JAX raises if the platform is missing
        return []
