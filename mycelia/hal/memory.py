"""Memory in use, by type of device: the counters of `runtime.memory_use`."""

from __future__ import annotations

from typing import Any

from mycelia._engine.runtime.memory import usage
from mycelia.hal.device import device_count


def memory_allocated(device_target: str | None = None) -> int:
    """The bytes in live arrays."""
    device_count(device_target)
    return usage.memory_allocated()


def memory_reserved(device_target: str | None = None) -> int:
    """The bytes that the device has reserved."""
    device_count(device_target)
    return usage.memory_reserved()


def max_memory_allocated(device_target: str | None = None) -> int:
    """The peak of bytes in live arrays."""
    device_count(device_target)
    return usage.max_memory_allocated()


def max_memory_reserved(device_target: str | None = None) -> int:
    """The peak of reserved bytes."""
    device_count(device_target)
    return usage.max_memory_reserved()


def memory_stats(device_target: str | None = None) -> dict[str, Any]:
    """All counters by name."""
    device_count(device_target)
    return usage.memory_stats()


def memory_summary(device_target: str | None = None) -> str:
    """All counters as a table."""
    device_count(device_target)
    return usage.memory_summary()


def reset_max_memory_allocated(device_target: str | None = None) -> None:
    """Reset the peak of bytes in live arrays."""
    device_count(device_target)
    usage.reset_max_memory_allocated()


def reset_max_memory_reserved(device_target: str | None = None) -> None:
    """Reset the peak of reserved bytes."""
    device_count(device_target)
    usage.reset_max_memory_reserved()


def reset_peak_memory_stats(device_target: str | None = None) -> None:
    """Reset both peaks."""
    device_count(device_target)
    usage.reset_peak_memory_stats()


def empty_cache() -> None:
    """Release cached memory that is not in use."""
    usage.empty_cache()
