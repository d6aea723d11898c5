"""Settings of training with parameter servers: `set_ps_context` and its like."""

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
    """Change settings of parameter servers."""
    _TABLE.change(kwargs)


def get_ps_context(attr_key: str) -> Any:
    """The value of one setting; passwords are not given back."""
    return _TABLE.read(attr_key)


def reset_ps_context() -> None:
    """Give all settings of parameter servers their defaults."""
    _TABLE.reset()
