"""The cosine similarity of the rows of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_string
from mycelia.train.metrics.metric import Metric, as_array, rearrange_inputs


class CosineSimilarity(Metric):
    """The cosine similarity, or with "dot" the products, of the rows of the latest batch.

    `reduction` is "none", or "sum" or "mean" over each row; `zero_diagonal` leaves out the
    similarity of each row to itself.
    """

    def __init__(
        self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True
    ) -> None:
        super().__init__()
        owner = "CosineSimilarity"
        self.similarity = check_string(owner, "similarity", similarity, ("dot", "cosine"))
        self.reduction = check_string(owner, "reduction", reduction, ("none", "sum", "mean"))
        self.zero_diagonal = check_bool(owner, "zero_diagonal", zero_diagonal)
        self.clear()

    def clear(self) -> None:
        self._matrix: np.ndarray | None = None

    @rearrange_inputs
    def update(self, inputs: Any) -> None:
        rows = as_array(inputs)
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, ord=2, axis=1, keepdims=True)
        self._matrix = np.dot(rows, rows.T)

    def eval(self) -> np.ndarray:
        self._check_updated(self._matrix is not None)
        assert self._matrix is not None
        result = self._matrix.copy()
        if self.zero_diagonal:
            np.fill_diagonal(result, 0)
        if self.reduction == "none":
            return result
        return result.mean(axis=-1) if self.reduction == "mean" else result.sum(axis=-1)
