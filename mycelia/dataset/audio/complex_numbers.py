"""Transforms of complex spectra, stored as pairs: magnitude and angle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia.dataset.audio.parameters import NotNegative
from mycelia.dataset.audio.waveform import COMPLEX, AudioTransform


@dataclass(frozen=True, eq=False)
class Angle(AudioTransform):
    """The angle of each complex number."""

    layout = COMPLEX

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        return np.arctan2(signal[..., 1], signal[..., 0])


@dataclass(frozen=True, eq=False)
class ComplexNorm(AudioTransform):
    """A power of the magnitude of each complex number."""

    layout = COMPLEX
    power: NotNegative = 1.0

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        return np.hypot(signal[..., 0], signal[..., 1]) ** signal.dtype.type(self.power)


@dataclass(frozen=True, eq=False)
class Magphase(AudioTransform):
    """A power of the magnitude, and the phase, of each complex number, as two columns."""

    layout = COMPLEX
    power: NotNegative = 1.0

    def run(self, values: tuple[Any, ...], random: Any) -> Any:
        (made,) = super().run(values, random)
        return made

    def change(self, signal: np.ndarray, random: Any) -> tuple[np.ndarray, np.ndarray]:
        sizes = np.hypot(signal[..., 0], signal[..., 1]) ** signal.dtype.type(self.power)
        return sizes, np.arctan2(signal[..., 1], signal[..., 0])
