"""Settings of offloading to host memory or disk: `set_offload_context`, `get_offload_context`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.distributed.settings_table import (
    SettingKey,
    SettingsTable,
    allowed,
    check_kind,
    within,
)

_GIGABYTES = re.compile(r"[1-9]\d*(\.\d*)?GB|0\.\d+GB")


def _bytes(name: str) -> Callable[[Any], dict[str, Any]]:
    """The rule of a key that accepts gigabytes as a string and stores bytes."""

    def rule(value: Any) -> dict[str, Any]:
        if not isinstance(value, str) or not _GIGABYTES.fullmatch(value):
            raise problem(
                ValueError,
                f"{name}: not an amount of memory",
                got=repr(value),
                expected="a number of gigabytes as a string, such as '5GB' or '3.5GB'",
            )
        return {name: int(float(value[:-2]) * 2**30)}

    return rule


def _size(name: str, default: int) -> SettingKey:
    return SettingKey(default, object, _bytes(name))


def _depth(value: Any) -> dict[str, Any]:
    if value <= 0:
        raise problem(ValueError, "aio_queue_depth: must be above 0", got=str(value))
    return {"aio_queue_depth": value}


_TABLE = SettingsTable(
    "offload context",
    {
        "offload_param": SettingKey("", str, allowed("offload_param", "cpu", "disk")),
        "offload_path": SettingKey("", str),
        "offload_checkpoint": SettingKey("", str, allowed("offload_checkpoint", "cpu", "disk")),
        "offload_ddr_size": _size("offload_ddr_size", 0),
        "offload_cpu_size": _size("offload_cpu_size", 0),
        "offload_disk_size": _size("offload_disk_size", 0),
        "enable_aio": SettingKey(True, bool),
        "aio_block_size": _size("aio_block_size", 2**20),
        "aio_queue_depth": SettingKey(1024, int, _depth),
        "enable_pinned_mem": SettingKey(True, bool),
        "auto_offload": SettingKey(True, bool),
        "host_mem_block_size": _size("host_mem_block_size", 2**30),
        "hbm_ratio": SettingKey(1.0, float, within("hbm_ratio", 0.0, 1.0)),
        "cpu_ratio": SettingKey(1.0, float, within("cpu_ratio", 0.0, 1.0)),
    },
)


def set_offload_context(offload_config: dict[str, Any]) -> None:
    """Change offloading settings; sizes are strings such as "2GB"."""
    check_kind("offload_config", offload_config, dict)
    _TABLE.change(offload_config)


def get_offload_context() -> dict[str, Any]:
    """All offloading settings; sizes are in bytes."""
    return _TABLE.everything()
