"""The perplexity of predicted probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import Metric, rearrange_inputs

_SMALLEST = 1e-10  # probabilities are clipped to at least this


class Perplexity(Metric):
    """Perplexity: the exponential of the mean negative log-likelihood of the true classes.

    Positions with the label `ignore_label` are ignored.
    """

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        if ignore_label is not None:
            check_int("Perplexity", "ignore_label", ignore_label)
        self.ignore_label = ignore_label
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._count = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        preds, labels = self._arrays(inputs, ("preds", "labels"))
        if labels.shape != preds.shape[:-1]:
            raise problem(
                RuntimeError,
                "Perplexity: each row of probabilities needs one label",
                got=f"labels {labels.shape} for probabilities {preds.shape}",
                expected=f"labels {preds.shape[:-1]}",
            )
        classes = labels.reshape(-1).astype(np.int64)
        rows = preds.reshape(-1, preds.shape[-1])
        if self.ignore_label is not None:
            counted = classes != self.ignore_label
            classes, rows = classes[counted], rows[counted]
        chosen = rows[np.arange(classes.size), classes]
        self._sum -= float(np.sum(np.log(np.maximum(_SMALLEST, chosen))))
        self._count += classes.size

    def eval(self) -> float:
        self._check_updated(self._count)
        return math.exp(self._sum / self._count)
