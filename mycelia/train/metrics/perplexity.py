"""How well probabilities predict words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import Metric, rearrange_inputs

_LEAST = 1e-10  # a probability counts as at least this


class Perplexity(Metric):
    """The exponential of the mean negative logarithm of the probabilities of the true classes.

    Places with the label `ignore_label` do not count.
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
                "Perplexity: not one label for each row of probabilities",
                got=f"labels {labels.shape} for probabilities {preds.shape}",
                expected=f"labels {preds.shape[:-1]}",
            )
        classes = labels.reshape(-1).astype(np.int64)
        rows = preds.reshape(-1, preds.shape[-1])
        if self.ignore_label is not None:
            counted = classes != self.ignore_label
            classes, rows = classes[counted], rows[counted]
        chosen = rows[np.arange(classes.size), classes]
        self._sum -= float(np.sum(np.log(np.maximum(_LEAST, chosen))))
        self._count += classes.size

    def eval(self) -> float:
        self._check_told(self._count)
        return math.exp(self._sum / self._count)
