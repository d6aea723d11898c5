"""Masking of spectrograms (Park et al., "SpecAugment", 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.audio.parameters import Axis, Count, Length, MaskLength, NotNegative, Real
from mycelia.dataset.audio.waveform import SPECTRUM, AudioTransform

_FREQUENCY, _TIME = 1, 2


@dataclass(frozen=True, eq=False)
class MaskAlongAxis(AudioTransform):
    """Masks a range of frequencies (axis=1) or of time (axis=2) with one value."""

    layout = SPECTRUM
    mask_start: Length
    mask_width: Count
    mask_value: Real
    axis: Axis

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        name = type(self).__name__
        return _masked(name, signal, self.axis, (self.mask_start, self.mask_width), self.mask_value)


@dataclass(frozen=True, eq=False)
class MaskAlongAxisIID(AudioTransform):
    """Masks a random range, up to `mask_param` wide, with one value."""

    is_random = True
    layout = SPECTRUM
    mask_param: Length
    mask_value: Real
    axis: Axis

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        name = type(self).__name__
        band = _random_band(name, signal, self.axis, self.mask_param, random)
        return _masked(name, signal, self.axis, band, self.mask_value)


@dataclass(frozen=True, eq=False)
class _Masking(AudioTransform):
    """Base class: a mask at a fixed position or, with `iid_masks`, at a random one."""

    layout = SPECTRUM
    axis: ClassVar[int]
    iid_masks: bool

    @property
    def is_random(self) -> bool:
        return self.iid_masks

    def mask(
        self, signal: np.ndarray, width: int, start: int, value: float, random: Any
    ) -> np.ndarray:
        """Apply a mask to the signal."""
        name = type(self).__name__
        band = start, width
        if self.iid_masks:
            band = _random_band(name, signal, self.axis, width, random)
        return _masked(name, signal, self.axis, band, value)


@dataclass(frozen=True, eq=False)
class FrequencyMasking(_Masking):
    """Masks a range of frequencies."""

    axis = _FREQUENCY
    iid_masks: bool = False
    freq_mask_param: MaskLength = 0
    mask_start: MaskLength = 0
    mask_value: NotNegative = 0.0

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        return self.mask(signal, self.freq_mask_param, self.mask_start, self.mask_value, random)


@dataclass(frozen=True, eq=False)
class TimeMasking(_Masking):
    """Masks a range of time."""

    axis = _TIME
    iid_masks: bool = False
    time_mask_param: MaskLength = 0
    mask_start: MaskLength = 0
    mask_value: NotNegative = 0.0

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        return self.mask(signal, self.time_mask_param, self.mask_start, self.mask_value, random)


def _random_band(
    owner: str, signal: np.ndarray, axis: int, widest: int, random: Any
) -> tuple[int, int]:
    length = signal.shape[axis - 3]
    _check_band(owner, length, 0, widest)
    width = int(random.integers(widest, endpoint=True))
    return int(random.integers(length - width, endpoint=True)), width


def _masked(
    owner: str, signal: np.ndarray, axis: int, band: tuple[int, int], value: float
) -> np.ndarray:
    start, width = band
    _check_band(owner, signal.shape[axis - 3], start, width)
    made = signal.copy()
    rows = slice(start, start + width)
    made[(..., rows, slice(None)) if axis == _FREQUENCY else (..., rows)] = value
    return made


def _check_band(owner: str, length: int, start: int, width: int) -> None:
    if start + width > length:
        raise problem(
            RuntimeError,
            f"{owner}: the mask is larger than the spectrogram",
            got=f"a mask from {start} to {start + width} of {length}",
        )
