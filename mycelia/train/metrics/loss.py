"""The mean loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import Metric, rearrange_inputs


class Loss(Metric):
    """The mean of the losses of all steps."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum_loss: Any = 0
        self._total_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        (loss,) = self._arrays(inputs, ("loss",))
        if loss.ndim > 1:
            raise problem(
                ValueError,
                "Loss: the loss must be a scalar or a vector",
                got=f"shape {loss.shape}",
                expected="a number or a vector",
            )
        self._sum_loss += float(np.mean(loss))
        self._total_num += 1

    def eval(self) -> float:
        self._check_updated(self._total_num)
        return self._sum_loss / self._total_num
