"""Converting tensors to images."""

from __future__ import annotations

import numpy as np

_WHITE = 255
_CHANNELS = (1, 3)


def is_picture(images: np.ndarray) -> bool:
    """Whether an array is a non-empty batch of gray or RGB images, (N, C, H, W)."""
    return images.ndim == 4 and images.shape[1] in _CHANNELS and images.size > 0


def as_pixels(images: np.ndarray) -> np.ndarray:
    """Images of shape (N, C, H, W) side by side, as pixels of shape (H, N * W, 3).

    Values from 0 to 1 map from black to white; other ranges are rescaled, with the minimum black.
    """
    values = images.astype(np.float64)
    low, high = values.min(), values.max()
    if low < 0 or high > 1:
        values = (values - low) / (high - low + 1)
    count, channels, height, width = values.shape
    rows = values.transpose(2, 0, 3, 1).reshape(height, count * width, channels)
    return (np.broadcast_to(rows, (height, count * width, 3)) * _WHITE).astype(np.uint8)
