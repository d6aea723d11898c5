"""Histograms of tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_MOST_BINS = 90
_MANY = 880  # number of values from which on the maximum number of bins is used


@dataclass(frozen=True, eq=False)
class HistogramCounts:
    """The counts of values between edges, of which there is one more than counts.

    Non-finite values are not in any bin or sum; `size` includes them.
    """

    edges: np.ndarray
    counts: np.ndarray
    low: float
    high: float
    total: float
    squares: float
    size: int


def histogram_of(values: np.ndarray) -> HistogramCounts:
    """The histogram of all values of an array."""
    flat = values.ravel()
    if not np.issubdtype(flat.dtype, np.integer):
        flat = flat.astype(np.float64)
    finite = flat[np.isfinite(flat)]
    if finite.size == 0:
        nothing = np.zeros(0)
        return HistogramCounts(nothing, nothing, 0.0, 0.0, 0.0, 0.0, values.size)
    counts, edges = np.histogram(finite, bins=bins_for(values.size))
    exact = finite.astype(np.float64)
    return HistogramCounts(
        edges,
        counts,
        float(exact.min()),
        float(exact.max()),
        float(exact.sum()),
        float(exact @ exact),
        values.size,
    )


def bins_for(size: int) -> int:
    """A suitable number of bins for this many values."""
    if size <= 5:
        return 2
    if size <= 10:
        return 3
    return size // 10 + 1 if size <= _MANY else _MOST_BINS
