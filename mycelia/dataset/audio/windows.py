"""Window functions."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mycelia.dataset.audio.options import WindowType

_KAISER_BETA = 12.0


@lru_cache(maxsize=64)
def window(kind: WindowType, size: int, padded: int) -> np.ndarray:
    """A periodic window of `size` samples, centered in `padded` samples."""
    if size == 1:
        whole = np.ones(1)
    elif kind is WindowType.KAISER:
        whole = np.kaiser(size + 1, _KAISER_BETA)[:-1]
    else:
        whole = _SHAPES[kind](size + 1)[:-1]
    left = (padded - size) // 2
    return np.pad(whole, (left, padded - size - left))


_SHAPES = {
    WindowType.BARTLETT: np.bartlett,
    WindowType.BLACKMAN: np.blackman,
    WindowType.HAMMING: np.hamming,
    WindowType.HANN: np.hanning,
}
