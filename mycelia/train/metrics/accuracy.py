"""The accuracy metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.train.metrics.metric import LabelMetric, rearrange_inputs


class Accuracy(LabelMetric):
    """Share of correct predictions; with "multilabel", of samples with all labels correct."""

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
            correct = predicted == true
        else:
            predicted, true = self._label_sets(y_pred, y)
            correct = (predicted == true).all(axis=1)
        self._keep_class_count(y_pred.shape[1])
        self._correct_num += int(np.count_nonzero(correct))
        self._total_num += correct.size

    def eval(self) -> float:
        self._check_updated(self._total_num)
        return self._correct_num / self._total_num
