"""The precision and recall metrics."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import LabelMetric, one_hot, rearrange_inputs

_TINY = sys.float_info.min  # classes that never occur get the value 0


class _Share(LabelMetric):
    """True positives as a share of some positives: by class, or by sample with "multilabel"."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)
        self.clear()

    def clear(self) -> None:
        self._class_num = 0
        self._true_positives: Any = np.empty(0)
        self._positives: Any = np.empty(0)

    def _counted(self, predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
        """The positives in the denominator."""
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._arrays(inputs)
        if self._type == "multilabel":
            predicted, true = self._label_sets(y_pred, y)
            counts = [(predicted * true).sum(1), self._counted(predicted, true).sum(1)]
            self._keep_class_count(y_pred.shape[1])
            self._true_positives = np.concatenate([self._true_positives, counts[0]])
            self._positives = np.concatenate([self._positives, counts[1]])
            return
        count = y_pred.shape[1] if y_pred.ndim > 1 else 0
        classes = self._classes(y_pred, y)
        check_class_count(type(self).__name__, count, classes[1])
        self._keep_class_count(count)
        predicted, true = (one_hot(v, count) for v in classes)
        before = (self._true_positives, self._positives) if self._positives.size else (0, 0)
        self._true_positives = before[0] + (predicted * true).sum(0)
        self._positives = before[1] + self._counted(predicted, true).sum(0)

    def eval(self, average: bool = False) -> Any:
        """The value of each class (or sample), or with `average` their mean."""
        self._check_updated(self._class_num)
        check_bool(type(self).__name__, "average", average)
        result = self._true_positives / (self._positives + _TINY)
        return result.mean() if average else result


class Precision(_Share):
    """The share of correct predictions among all predictions of each class."""

    def _counted(self, predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
        return predicted


class Recall(_Share):
    """The share of samples of each class that are predicted correctly."""

    def _counted(self, predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
        return true


def check_class_count(owner: str, count: int, true: np.ndarray) -> None:
    """Check that the predictions have a score for each label."""
    largest = int(true.max()) + 1 if true.size else 0
    if largest > count:
        raise problem(
            ValueError,
            f"{owner}: the predictions have no score for one of the labels",
            got=f"the label {largest - 1} and scores of {count} classes",
            expected=f"labels below {count}",
        )
