"""The confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_instance, check_int
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import Metric, rearrange_inputs

_SUMS = NO_NORM, TARGET, PREDICTION, ALL = "no_norm", "target", "prediction", "all"


class ConfusionMatrix(Metric):
    """The confusion matrix: a row for each true class, a column for each predicted one.

    `normalize` makes the rows ("target"), the columns ("prediction"), or all entries ("all") sum
    to one. Scores without a class axis count as class 1 from `threshold` up.
    """

    def __init__(self, num_classes: int, normalize: str = NO_NORM, threshold: float = 0.5) -> None:
        super().__init__()
        self.num_classes = check_int("ConfusionMatrix", "num_classes", num_classes)
        if normalize not in _SUMS:
            raise problem(
                ValueError,
                "ConfusionMatrix: unknown normalization",
                got=f"normalize={normalize!r}",
                expected=", ".join(map(repr, _SUMS)),
            )
        self.normalize = normalize
        self.threshold = check_instance("ConfusionMatrix", "threshold", threshold, float)
        self.clear()

    def clear(self) -> None:
        self._matrix = np.zeros((self.num_classes, self.num_classes))
        self._is_updated = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._arrays(inputs)
        if y_pred.ndim == y.ndim + 1:
            y_pred = np.argmax(y_pred, axis=1)
        elif y_pred.ndim != y.ndim:
            raise problem(
                ValueError,
                "ConfusionMatrix: the shapes of predictions and labels do not match",
                got=f"predictions {y_pred.shape} and labels {y.shape}",
                expected="as many axes, or scores with one axis more, for the classes",
            )
        elif np.issubdtype(y_pred.dtype, np.floating):
            y_pred = y_pred >= self.threshold
        predicted, true = (v.reshape(-1).astype(np.int64) for v in (y_pred, y))
        if predicted.size != true.size or max(predicted.max(), true.max()) >= self.num_classes:
            raise problem(
                ValueError,
                "ConfusionMatrix: predictions and labels do not match",
                got=f"{predicted.size} and {true.size} classes up to "
                f"{max(predicted.max(), true.max())}",
                expected=f"equal numbers of classes, all below {self.num_classes}",
            )
        np.add.at(self._matrix, (true, predicted), 1)
        self._is_updated = True

    def eval(self) -> np.ndarray:
        self._check_updated(self._is_updated)
        if self.normalize == NO_NORM:
            return self._matrix.copy()
        axis = {TARGET: 1, PREDICTION: 0, ALL: None}[self.normalize]
        total = self._matrix.sum(axis=axis, keepdims=True)
        return np.divide(self._matrix, total, out=np.zeros_like(self._matrix), where=total != 0)
