"""How often predictions are right."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.train.metrics.metric import LabelMetric, rearrange_inputs


class Accuracy(LabelMetric):
    """The share of right predictions; with "multilabel", of places where all labels are right."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        self._correct_num = 0
        self._total_num = 0
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._arrays(inputs)
        if self._type == "classification":
            predicted, true = self._classes(y_pred, y)
            right = predicted == true
        else:
            predicted, true = self._label_sets(y_pred, y)
            right = (predicted == true).all(axis=1)
        self._keep_class_count(y_pred.shape[1])
        self._correct_num += int(np.count_nonzero(right))
        self._total_num += right.size

    def eval(self) -> float:
        self._check_told(self._total_num)
        return self._correct_num / self._total_num
