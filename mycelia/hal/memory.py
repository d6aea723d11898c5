"""The memory in use, for one kind of device: the counts of `runtime.memory_use`."""

from __future__ import annotations

from typing import Any

from mycelia._engine.runtime.memory import usage
from mycelia.hal.device import device_count


def memory_allocated(device_target: str | None = None) -> int:
    """The bytes that living arrays hold."""
    device_count(device_target)
    return usage.memory_allocated()


def memory_reserved(device_target: str | None = None) -> int:
    """The bytes the device has set aside."""
    device_count(device_target)
    return usage.memory_reserved()


def max_memory_allocated(device_target: str | None = None) -> int:
    """The most bytes that arrays held."""
    device_count(device_target)
    return usage.max_memory_allocated()


def max_memory_reserved(device_target: str | None = None) -> int:
    """The most bytes that were set aside."""
    device_count(device_target)
    return usage.max_memory_reserved()


def memory_stats(device_target: str | None = None) -> dict[str, Any]:
    """All counts by name."""
    device_count(device_target)
    return usage.memory_stats()


def memory_summary(device_target: str | None = None) -> str:
    """All counts as a table."""
    device_count(device_target)
    return usage.memory_summary()


def reset_max_memory_allocated(device_target: str | None = None) -> None:
    """Count the most bytes held from now on."""
    device_count(device_target)
    usage.reset_max_memory_allocated()


def reset_max_memory_reserved(device_target: str | None = None) -> None:
    """Count the most bytes set aside from now on."""
    device_count(device_target)
    usage.reset_max_memory_reserved()


def reset_peak_memory_stats(device_target: str | None = None) -> None:
    """Count both from now on."""
    device_count(device_target)
    usage.reset_peak_memory_stats()


def empty_cache() -> None:
    """Give back memory that nobody uses."""
    usage.empty_cache()
