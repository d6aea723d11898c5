"""Learning rates of an optimizer: a number, a list with one rate per step, or a schedule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_non_negative_float
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.ir.handlers import handlers
from mycelia.nn.learning_rate_schedule import LearningRateSchedule
from mycelia.ops.indexing.gather import gather
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

Rate = Parameter | LearningRateSchedule


def make_rate(owner: str, value: Any, name: str) -> Rate:
    """`value` as a parameter called `name`, or as a schedule."""
    if isinstance(value, LearningRateSchedule):
        return value
    if isinstance(value, (int, float)):
        checked = check_non_negative_float(owner, "learning rate", float(value))
        return Parameter(Tensor(checked, dtypes.float32), name=name)
    if isinstance(value, Tensor):
        return _rate_of_array(owner, np.array(value, np.float32), name)
    if isinstance(value, str):
        raise wrong_value(owner, "learning_rate", value, "a number or a list of numbers")
    if isinstance(value, Iterable):
        return _rate_of_array(owner, np.array(list(value), np.float32), name)
    raise problem(
        TypeError,
        f"For '{owner}', the 'learning_rate' has a wrong type",
        got=f"{value!r} of type {type(value).__name__}",
        expected="int, float, Tensor, Iterable or LearningRateSchedule",
    )


def _rate_of_array(owner: str, array: np.ndarray, name: str) -> Rate:
    if array.ndim > 1:
        raise problem(
            ValueError,
            f"For '{owner}', the 'learning_rate' has too many dimensions",
            got=f"shape {array.shape}",
            expected="one number, or one number for each step",
        )
    parameter = Parameter(Tensor(array), name=name)
    return ListedRate(parameter) if array.ndim else parameter


class ListedRate(LearningRateSchedule):
    """A list of rates, indexed by the step number."""

    def __init__(self, rates: Parameter) -> None:
        super().__init__()
        self.learning_rate = rates
        self.length = rates.shape[0]

    def construct(self, global_step: Any) -> Any:
        # While a program is traced there is no step number yet; there, the last rate is repeated.
        if handlers.call is None and int(global_step) >= self.length:
            raise problem(
                RuntimeError,
                "the list of learning rates is too short",
                got=f"step {int(global_step)} and {self.length} rates",
                fix="pass one rate for each training step",
            )
        return gather(self.learning_rate, global_step, 0)


class ConstantRate(LearningRateSchedule):
    """A fixed rate in a group whose other rates change."""

    def __init__(self, rate: Parameter) -> None:
        super().__init__()
        self.learning_rate = rate

    def construct(self, global_step: Any) -> Any:
        return self.learning_rate
