"""Available devices and their properties."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import settings
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.runtime import devices

_TARGETS = ("CPU", "GPU", "Ascend")


def is_available(device_target: str) -> bool:
    """Whether there is a device of this type."""
    return _checked("hal.is_available", device_target) in devices.available()


def is_initialized(device_target: str) -> bool:
    """Whether programs run on devices of this type."""
    return _checked("hal.is_initialized", device_target) == settings.current().device_target


def device_count(device_target: str | None = None) -> int:
    """The number of devices of a type; of the current type if None."""
    return len(_present("hal.device_count", device_target))


def get_device_name(device_id: int, device_target: str | None = None) -> str:
    """The name of a device: CPU, or the vendor's name."""
    device = _one("hal.get_device_name", device_id, device_target)
    return "CPU" if device.platform == "cpu" else device.device_kind


def get_device_capability(device_id: int, device_target: str | None = None) -> Any:
    """The compute capability of a GPU; None for a CPU."""
    device = _one("hal.get_device_capability", device_id, device_target)
    capability = getattr(device, "compute_capability", None)
    return None if capability is None else tuple(int(part) for part in str(capability).split("."))


def get_device_properties(device_id: int, device_target: str | None = None) -> Any:
    """The properties of a device by name; None for a CPU."""
    device = _one("hal.get_device_properties", device_id, device_target)
    if device.platform == "cpu":
        return None
    return {"name": device.device_kind, "id": device.id} | (device.memory_stats() or {})


def get_arch_list(device_target: str | None = None) -> Any:
    """The architectures of prebuilt kernels: None, since XLA compiles kernels on demand."""
    _present("hal.get_arch_list", device_target)
    return None


def _present(owner: str, device_target: str | None) -> list[Any]:
    now = settings.current().device_target
    target = now if device_target is None else _checked(owner, device_target)
    found = devices.all_of(target)
    if not found:
        raise problem(
            ValueError,
            f"{target} backend is not available on this machine.",
            expected=f"one of {', '.join(devices.available())}",
        )
    return found


def _one(owner: str, device_id: Any, device_target: str | None) -> Any:
    found = _present(owner, device_target)
    if not is_int(device_id):
        raise problem(TypeError, f"The argument 'device_id' must be int, but got {device_id!r}.")
    if not 0 <= device_id < len(found):
        raise problem(
            ValueError,
            f"The argument 'device_id' must be less than device count: {len(found)}, "
            f"but got {device_id}.",
        )
    return found[device_id]


def _checked(owner: str, device_target: Any) -> str:
    if device_target not in _TARGETS:
        raise problem(
            ValueError,
            f"For '{owner}', the argument 'device_target' must be one of {list(_TARGETS)}, "
            f"but got {device_target}.",
        )
    result: str = device_target
    return result
