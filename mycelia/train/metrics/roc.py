"""The receiver operating characteristic (ROC)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import Metric, rearrange_inputs


class ROC(Metric):
    """False and true positive rates of the latest batch at all thresholds.

    `pos_label` is the positive label; scores of `class_num` classes yield one curve for each.
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        self.class_num = None if class_num is None else check_int("ROC", "class_num", class_num)
        self.pos_label = None if pos_label is None else check_int("ROC", "pos_label", pos_label)
        self.clear()

    def clear(self) -> None:
        self._batch: tuple[np.ndarray, np.ndarray] | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        y_pred, y = self._arrays(inputs)
        if y_pred.ndim == y.ndim:
            self._check_one_class()
            self._batch = y_pred.reshape(-1), y.reshape(-1)
        elif y_pred.ndim == y.ndim + 1:
            self._check_classes(y_pred.shape[1])
            scores = np.moveaxis(y_pred, 1, 0).reshape(y_pred.shape[1], -1)
            self._batch = scores, y.reshape(-1)
        else:
            raise problem(
                ValueError,
                "ROC: the shapes of predictions and labels do not match",
                got=f"predictions {y_pred.shape} and labels {y.shape}",
                expected="as many axes, or scores with one axis more, for the classes",
            )

    def eval(self) -> tuple[Any, Any, Any]:
        """`(fpr, tpr, thresholds)`: arrays, or lists with one array for each class."""
        self._check_updated(self._batch is not None)
        assert self._batch is not None
        scores, labels = self._batch
        if scores.ndim == 1:
            return _curve(scores, labels == (1 if self.pos_label is None else self.pos_label))
        curves = [_curve(row, labels == number) for number, row in enumerate(scores)]
        fpr, tpr, thresholds = (list(arrays) for arrays in zip(*curves, strict=True))
        return fpr, tpr, thresholds

    def _check_one_class(self) -> None:
        if self.class_num not in (None, 1):
            raise problem(
                ValueError,
                "ROC: several classes need one score per class",
                got=f"class_num={self.class_num}",
                fix="leave class_num out, or pass the scores of all classes along axis 1",
            )

    def _check_classes(self, count: int) -> None:
        if self.pos_label is not None:
            raise problem(
                ValueError,
                "ROC: pos_label cannot be used with scores of several classes",
                got=f"pos_label={self.pos_label}",
                fix="leave pos_label out",
            )
        if self.class_num != count:
            raise problem(
                ValueError,
                "ROC: class_num differs from the number of classes in the predictions",
                got=f"class_num={self.class_num} and scores of {count} classes",
            )


def _curve(scores: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rates with each score as threshold, from all predicted negative to all positive."""
    order = np.argsort(-scores, kind="stable")
    scores, positive = scores[order], positive[order]
    last_of_score = np.append(np.nonzero(np.diff(scores))[0], scores.size - 1)
    true = np.cumsum(positive)[last_of_score]
    false = last_of_score + 1 - true
    for count, kind in ((false[-1], "negative"), (true[-1], "positive")):
        if count == 0:
            raise problem(
                ValueError,
                f"ROC: rates need {kind} labels, but there are none",
                expected="positive and negative labels",
            )
    thresholds = np.append(scores[0] + 1, scores[last_of_score])
    return np.append(0, false) / false[-1], np.append(0, true) / true[-1], thresholds
