"""The Dice coefficient: the overlap of two regions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_instance, check_positive_float
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import Metric, rearrange_inputs


class Dice(Metric):
    """The mean Dice coefficient: the sum over batches divided by the number of samples.

    `smooth` is added to the denominator, so that empty regions do not divide by zero.
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        check_instance("Dice", "smooth", smooth, float)
        self.smooth = check_positive_float("Dice", "smooth", smooth)
        self.clear()

    def clear(self) -> None:
        self._coefficients: Any = 0.0
        self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._arrays(inputs)
        if y_pred.shape != y.shape:
            raise problem(
                ValueError,
                "Dice: predictions and labels have different shapes",
                got=f"{y_pred.shape} and {y.shape}",
            )
        overlap = np.dot(y_pred.flatten(), y.flatten())
        sizes = np.dot(y_pred.flatten(), y_pred.flatten()) + np.dot(y.flatten(), y.flatten())
        self._coefficients += 2 * overlap / (sizes + self.smooth)
        self._samples_num += y.shape[0]

    def eval(self) -> float:
        self._check_updated(self._samples_num)
        return self._coefficients / self._samples_num
