"""Histograms of tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_MOST_BINS = 90
_MANY = 880  # numbers, from which on there are as many bins as there ever are


@dataclass(frozen=True, eq=False)
class HistogramCounts:
    """How often numbers fall between edges, of which there is one more than counts.

    Infinite and undefined numbers are in none of the bins, and in no sum; `size` counts them, too.
    """

    edges: np.ndarray
    counts: np.ndarray
    low: float
    high: float
    total: float
    squares: float
    size: int


def histogram_of(values: np.ndarray) -> HistogramCounts:
    """The histogram of all numbers of an array."""
    kept = values.ravel()
    if not np.issubdtype(kept.dtype, np.integer):
        kept = kept.astype(np.float64)
    finite = kept[np.isfinite(kept)]
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
    """How many bins show this many numbers well."""
    if size <= 5:
        return 2
    if size <= 10:
        return 3
    return size // 10 + 1 if size <= _MANY else _MOST_BINS
