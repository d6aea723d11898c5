"""Settings of parameter-server training: `set_ps_context` and related functions."""

from __future__ import annotations

from typing import Any

from mycelia._engine.distributed.settings_table import SettingKey, SettingsTable, within

_TABLE = SettingsTable(
    "PS context",
    {
        "server_mode": SettingKey("", str),
        "ms_role": SettingKey("MS_NOT_PS", str),
        "enable_ps": SettingKey(False, bool),
        "worker_num": SettingKey(0, int),
        "server_num": SettingKey(0, int),
        "scheduler_ip": SettingKey("127.0.0.1", str),
        "scheduler_port": SettingKey(6667, int, within("scheduler_port", 1, 65535)),
        "enable_ssl": SettingKey(False, bool),
        "client_password": SettingKey("", str, may_get=False),
        "server_password": SettingKey("", str, may_get=False),
        "config_file_path": SettingKey("", str),
    },
)


def set_ps_context(**kwargs: Any) -> None:
    """Change parameter-server settings."""
    _TABLE.change(kwargs)


def get_ps_context(attr_key: str) -> Any:
    """The value of one parameter-server setting; passwords cannot be read."""
    return _TABLE.read(attr_key)


def reset_ps_context() -> None:
    """Restore the defaults of all parameter-server settings."""
    _TABLE.reset()
