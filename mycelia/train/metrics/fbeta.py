"""The F-beta and F1 scores."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import LabelMetric, one_hot, rearrange_inputs
from mycelia.train.metrics.precision import check_class_count

_TINY = sys.float_info.min


class Fbeta(LabelMetric):
    """The F-beta score: harmonic mean of precision and recall, with recall weighted by `beta`."""

    def __init__(self, beta: float) -> None:
        super().__init__("classification")
        if not beta > 0:
            raise problem(ValueError, "Fbeta: beta must be positive", got=f"beta={beta}")
        self.beta = beta
        self.clear()

    def clear(self) -> None:
        self._true_positives: Any = 0
        self._actual_positives: Any = 0
        self._positives: Any = 0
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._arrays(inputs)
        if y.ndim < y_pred.ndim and y_pred.shape[2:] != y.shape[1:] and y.size == y_pred[:, 0].size:
            y = y.reshape(y_pred[:, 0].shape)
        count = y_pred.shape[1] if y_pred.ndim > 1 else 0
        classes = self._classes(y_pred, y)
        check_class_count("Fbeta", count, classes[1])
        self._keep_class_count(count)
        predicted, true = (one_hot(v, count) for v in classes)
        self._true_positives = self._true_positives + (predicted * true).sum(0)
        self._actual_positives = self._actual_positives + true.sum(0)
        self._positives = self._positives + predicted.sum(0)

    def eval(self, average: bool = False) -> Any:
        """The score of each class, or with `average` their mean."""
        check_bool("Fbeta", "average", average)
        self._check_updated(self._class_num)
        square = self.beta**2
        weighted = square * self._actual_positives + self._positives
        scores = (1 + square) * self._true_positives / (weighted + _TINY)
        return np.mean(scores) if average else scores


class F1(Fbeta):
    """The F1 score: the harmonic mean of precision and recall."""

    def __init__(self) -> None:
        super().__init__(1.0)
