"""Settings of the search for a parallel strategy: `set_algo_parameters` and related functions."""

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
    """The version number of the search parameters; equal for equal values."""
    return _TABLE.version


def set_algo_parameters(**kwargs: Any) -> None:
    """Set parameters of the search for a parallel strategy.

    With `fully_use_devices`, operators that can use all devices do. The other parameters are
    accepted for compatibility and have no effect: the search always compares all layouts exactly.
    """
    _TABLE.change(kwargs)


def get_algo_parameters(attr_key: str) -> Any:
    """The value of one parameter of the search."""
    return _TABLE.read(attr_key)


def reset_algo_parameters() -> None:
    """Restore the defaults of all search parameters."""
    _TABLE.reset()
