"""Parameters of the search for a parallel strategy: `set_algo_parameters` and its like."""

from __future__ import annotations

from typing import Any

from mycelia.parallel.keeping import Key, Table, within

_TABLE = Table(
    "context",
    {
        "fully_use_devices": Key(False, bool),
        "elementwise_op_strategy_follow": Key(False, bool),
        "enable_algo_approxi": Key(False, bool),
        "algo_approxi_epsilon": Key(0.1, float, within("algo_approxi_epsilon", 0.0, 1.0)),
        "tensor_slice_align_enable": Key(False, bool),
        "tensor_slice_align_size": Key(16, int, within("tensor_slice_align_size", 1, 1024)),
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
