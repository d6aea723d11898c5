"""The area under a curve (AUC)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem


def auc(x: Any, y: Any, reorder: bool = False) -> float:
    """The area under a curve, such as ROC, by the trapezoidal rule.

    `x` must be monotonic, unless `reorder` sorts the points by it.
    """
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        raise problem(
            TypeError,
            "auc: x and y must be numpy arrays",
            got=f"x: {type(x).__name__}, y: {type(y).__name__}",
            expected="numpy arrays",
        )
    x, y = _column(x), _column(y)
    if x.size != y.size:
        raise problem(
            ValueError,
            "auc: x and y have different lengths",
            got=f"{x.size} and {y.size}",
        )
    if x.size < 2:
        raise problem(
            ValueError,
            "auc: an area needs at least two points",
            got=str(x.size),
            expected="2 or more",
        )
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    steps = np.diff(x)
    if (steps < 0).any() and (steps > 0).any():
        raise problem(
            ValueError,
            "auc: x is not monotonic",
            got=str(x),
            fix="sort the points, or pass reorder=True",
        )
    area = float(np.sum(steps * (y[1:] + y[:-1]) / 2))
    return -area if (steps < 0).any() else area


def _column(values: np.ndarray) -> np.ndarray:
    if values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1):
        return values.reshape(-1)
    raise problem(
        ValueError,
        "auc: x and y must be vectors or single columns",
        got=f"shape {values.shape}",
        expected="(N,) or (N, 1)",
    )
