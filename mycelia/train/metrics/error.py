"""The mean absolute error and the mean squared error."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.train.metrics.metric import Metric, rearrange_inputs


class _Error(Metric):
    """A sum over the differences of predicted and true values, divided by the sample count."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._error_sum: Any = 0.0
        self._samples_num = 0

    def _of(self, difference: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._arrays(inputs)
        self._error_sum += self._of(y.reshape(y_pred.shape) - y_pred).sum()
        self._samples_num += y.shape[0]

    def eval(self) -> Any:
        self._check_updated(self._samples_num)
        return self._error_sum / self._samples_num


class MAE(_Error):
    """The mean over samples of the absolute error."""

    def _of(self, difference: np.ndarray) -> np.ndarray:
        return np.abs(difference)


class MSE(_Error):
    """The mean over samples of the squared error."""

    def _of(self, difference: np.ndarray) -> np.ndarray:
        return np.power(difference, 2)
