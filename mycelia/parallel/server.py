"""Settings of training with parameter servers: `set_ps_context` and its like."""

from __future__ import annotations

from typing import Any

from mycelia.parallel.keeping import Key, Table, within

_TABLE = Table(
    "PS context",
    {
        "server_mode": Key("", str),
        "ms_role": Key("MS_NOT_PS", str),
        "enable_ps": Key(False, bool),
        "worker_num": Key(0, int),
        "server_num": Key(0, int),
        "scheduler_ip": Key("127.0.0.1", str),
        "scheduler_port": Key(6667, int, within("scheduler_port", 1, 65535)),
        "enable_ssl": Key(False, bool),
        "client_password": Key("", str, may_get=False),
        "server_password": Key("", str, may_get=False),
        "config_file_path": Key("", str),
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
