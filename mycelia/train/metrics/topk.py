"""Top-k accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import Metric, rearrange_inputs


class TopKCategoricalAccuracy(Metric):
    """Share of samples whose true class is among the `k` classes with the highest scores."""

    def __init__(self, k: int) -> None:
        super().__init__()
        owner = "TopKCategoricalAccuracy"
        if check_int(owner, "k", k) < 1:
            raise problem(
                ValueError,
                f"{owner}: k must be a positive number of classes",
                got=f"k={k}",
                expected="1 or more",
            )
        self.k = k
        self.clear()

    def clear(self) -> None:
        self._correct_num = 0
        self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._arrays(inputs)
        if y_pred.ndim == y.ndim and y_pred.shape == y.shape:
            y = y.argmax(axis=1)
        if y_pred.ndim != 2 or y_pred.shape[1] < self.k:
            raise problem(
                ValueError,
                f"{type(self).__name__}: predictions need scores of at least {self.k} classes",
                got=f"predictions of shape {y_pred.shape}",
                expected=f"shape (N, C) with C at least {self.k}",
            )
        best = np.argsort(-y_pred, axis=1, kind="stable")[:, : self.k]
        self._correct_num += int(np.count_nonzero(best == y.reshape(-1, 1)))
        self._samples_num += y_pred.shape[0]

    def eval(self) -> float:
        self._check_updated(self._samples_num)
        return self._correct_num / self._samples_num


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """Top-1 accuracy: the share of samples whose true class has the highest score."""

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """Top-5 accuracy: the share of samples whose true class is among the five highest scores."""

    def __init__(self) -> None:
        super().__init__(5)
