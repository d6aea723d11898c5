"""Bicubic interpolation with exact weights and repeated borders."""

from __future__ import annotations

import numpy as np

from mycelia._engine.ir.example import case
from mycelia.ops.image.interpolate import Interpolate
from mycelia.ops.image.resampling_weights import Taps

SHARPNESS = -0.75  # the free parameter of Keys' kernel (1981)


class CubicInterpolate(Interpolate):
    """Resizes a batch of images to `size` by cubic convolution with four taps along each axis."""

    mode: str = "bicubic"
    examples = (
        case("f32[1,2,3,4]", size=(5, 6)),
        case("f32[1,1,5,3]", size=(2, 4), align_corners=True),
        case("f32[1,1,4,4]", size=(6, 6), ratios=(0.6, 0.7)),
        case("f32[1,1,1,2]", size=(1, 3), align_corners=True),
        case("f16[0,1,2,2]", size=(3, 3)),
    )

    def _taps(self, length: int, count: int, ratio: float | None) -> Taps:
        steps = np.arange(count)
        if self.align_corners:
            positions = steps * ((length - 1) / (count - 1) if count > 1 else 0.0)
        else:
            positions = (steps + 0.5) * (length / max(count, 1) if ratio is None else ratio) - 0.5
        low = np.floor(positions)
        offsets = np.arange(-1, 3)[:, None]
        distances = np.abs(positions - low - offsets)
        indices = np.clip(low + offsets, 0, length - 1).astype(np.int32)
        return Taps(length, indices, _weights(distances))


def _weights(distance: np.ndarray) -> np.ndarray:
    """Keys' cubic kernel: one polynomial within distance 1, another from 1 to 2."""
    a = SHARPNESS
    near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    far = a * (distance**3 - 5 * distance**2 + 8 * distance - 4)
    return np.where(distance <= 1, near, far)
