"""The LearningRateScheduler callback: set the learning rate by a function of the step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mycelia._engine.core.dtype import float32
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.callback import Callback


class LearningRateScheduler(Callback):
    """Sets the learning rate after each step to `learning_rate_function(rate, step)`."""

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        super().__init__()
        if not callable(learning_rate_function):
            raise wrong_type(
                "LearningRateScheduler",
                "learning_rate_function",
                learning_rate_function,
                "a function",
            )
        self.learning_rate_function = learning_rate_function

    def step_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        rate = fixed_rate("LearningRateScheduler", facts.optimizer)
        current = float(str(rate.asnumpy()))  # 0.1, not its float32 approximation
        new = self.learning_rate_function(current, facts.cur_step_num)
        if not math.isclose(current, new, rel_tol=1e-10):
            rate.set_data(Tensor(new, float32))


def fixed_rate(owner: str, optimizer: Any) -> Parameter:
    """The single learning rate of an optimizer, which a callback may change."""
    rate = optimizer.learning_rate
    if not isinstance(rate, Parameter):
        raise problem(
            ValueError,
            f"{owner}: the optimizer has no single learning rate that can be set",
            got=f"learning_rate of type {type(rate).__name__}",
            fix="pass one number as the optimizer's learning_rate",
        )
    return rate
