"""The context: `set_context` and `get_context` with MindSpore's keys."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import settings
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import problem
from mycelia._engine.core.network_version import note_network_change
from mycelia._engine.core.settings import GRAPH_MODE as GRAPH_MODE
from mycelia._engine.core.settings import PYNATIVE_MODE as PYNATIVE_MODE
from mycelia._engine.runtime import devices
from mycelia._engine.runtime.xla import disk_cache
from mycelia._engine.runtime.xla.compile import forget_programs


@entry_point
def set_context(*args: Any, **kwargs: Any) -> None:
    """Change settings of the process, for example `set_context(mode=GRAPH_MODE)`."""
    if args:
        raise problem(
            TypeError,
            "too many positional arguments",
            got=f"set_context({', '.join(map(repr, args))})",
            fix="name them: set_context(mode=mycelia.GRAPH_MODE)",
        )
    before, selected = settings.current(), settings.selects_kernels()
    settings.change(**kwargs)
    checks = before.check_indices is not settings.current().check_indices
    if checks or settings.selects_kernels() is not selected:
        forget_programs()
    if settings.current().max_device_memory != before.max_device_memory:
        note_network_change()
    try:
        disk_cache.apply()
        if "device_target" in kwargs or "device_id" in kwargs:
            now = settings.current()
            settings.change(device_target=devices.select(now.device_target, now.device_id))
    except (RuntimeError, OSError):
        settings.restore(before)
        raise


def get_context(attr_key: str) -> Any:
    """Return the value of one setting, by its `set_context` key."""
    if not isinstance(attr_key, str) or not hasattr(settings.current(), attr_key):
        raise problem(
            ValueError,
            "For 'context.get_context', the argument 'attr_key' is not recognized! "
            f"It must be a key of set_context, but got {attr_key}.",
        )
    return getattr(settings.current(), attr_key)


@entry_point
def set_device(device_target: str, device_id: int | None = None) -> None:
    """Select the device that later operators and programs run on."""
    set_context(device_target=device_target, device_id=device_id or 0)


def get_current_device() -> tuple[str, int]:
    """Return the target (such as "CPU") and the id of the current device."""
    now = settings.current()
    return now.device_target, now.device_id


def set_deterministic(deterministic: bool) -> None:
    """Request bitwise reproducible results; on CPU they always are."""
    set_context(deterministic="ON" if deterministic else "OFF")
