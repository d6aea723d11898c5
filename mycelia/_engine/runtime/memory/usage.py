"""Memory usage of device arrays: current values and peaks."""

from __future__ import annotations

from typing import Any

import jax


class _Peaks:
    allocated: int = 0
    reserved: int = 0


def memory_allocated() -> int:
    """Bytes of live arrays."""
    found = sum(array.nbytes for array in jax.live_arrays() if not array.is_deleted())
    _Peaks.allocated = max(_Peaks.allocated, found)
    return found


def memory_reserved() -> int:
    """Bytes reserved by the device; if it does not report them, the bytes of live arrays."""
    stats = _device_stats()
    found = int(stats.get("bytes_reserved", 0)) or memory_allocated()
    _Peaks.reserved = max(_Peaks.reserved, found)
    return found


def max_memory_allocated() -> int:
    """Peak of allocated bytes: as the device counts, or over all queries."""
    memory_allocated()
    return max(_Peaks.allocated, int(_device_stats().get("peak_bytes_in_use", 0)))


def max_memory_reserved() -> int:
    """Peak of reserved bytes, over all queries."""
    memory_reserved()
    return _Peaks.reserved


def reset_max_memory_allocated() -> None:
    """Reset the peak of allocated bytes."""
    _Peaks.allocated = 0


def reset_max_memory_reserved() -> None:
    """Reset the peak of reserved bytes."""
    _Peaks.reserved = 0


def reset_peak_memory_stats() -> None:
    """Reset the peaks of allocated and reserved bytes."""
    reset_max_memory_allocated()
    reset_max_memory_reserved()


def empty_cache() -> None:
    """Release unused memory: compiled programs that are not running."""
    jax.clear_caches()


def memory_stats() -> dict[str, Any]:
    """All memory statistics by name."""
    allocated, reserved = memory_allocated(), memory_reserved()
    return {
        "total_reserved_memory": reserved,
        "total_allocated_memory": allocated,
        "total_idle_memory": reserved - allocated,
        "max_reserved_memory": max_memory_reserved(),
        "max_allocated_memory": max_memory_allocated(),
    }


def memory_summary() -> str:
    """All memory statistics as a table."""
    rows = [
        f"| {name.replace('_', ' '):<26} | {count:>16} B |"
        for name, count in memory_stats().items()
    ]
    line = "|" + "-" * (len(rows[0]) - 2) + "|"
    return "\n".join([line, *rows, line])


def _device_stats() -> dict[str, Any]:
    chosen = jax.config.jax_default_device  # type: ignore[attr-defined]
    device = chosen or jax.local_devices()[0]
    return device.memory_stats() or {}
