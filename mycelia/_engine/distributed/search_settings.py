"""Parameters of the search for a parallel strategy: `set_algo_parameters` and its like."""

from __future__ import annotations

from typing import Any

from mycelia._engine.distributed.settings_table import SettingKey, SettingsTable, within

_TABLE = SettingsTable(
    "context",
    {
        "fully_use_devices": SettingKey(False, bool),
        "elementwise_op_strategy_follow": SettingKey(False, bool),
        "enable_algo_approxi": SettingKey(False, bool),
        "algo_approxi_epsilon": SettingKey(0.1, float, within("algo_approxi_epsilon", 0.0, 1.0)),
        "tensor_slice_align_enable": SettingKey(False, bool),
        "tensor_slice_align_size": SettingKey(16, int, within("tensor_slice_align_size", 1, 1024)),
    },
)


def search_version() -> int:
    """A number that says which values the parameters of the search have."""
    return _TABLE.version


def set_algo_parameters(**kwargs: Any) -> None:
    """Change parameters of the search for a strategy.

    With `fully_use_devices`, operators that can use all devices do. The others are kept for scripts
    that set them: the search compares all layouts exactly, whatever the operators are.
    """
    _TABLE.change(kwargs)


def get_algo_parameters(attr_key: str) -> Any:
    """The value of one parameter of the search."""
    return _TABLE.read(attr_key)


def reset_algo_parameters() -> None:
    """Give all parameters of the search their defaults."""
    _TABLE.reset()
