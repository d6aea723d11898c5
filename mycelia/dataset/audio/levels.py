"""Amplitude transforms: volume, decibels, fades, mu-law companding, contrast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_number
from mycelia._engine.core.errors import problem
from mycelia.dataset.audio.options import FadeShape, GainType, ScaleType
from mycelia.dataset.audio.parameters import MOST, Count, Length, Percent, Positive, Real, Shift
from mycelia.dataset.audio.waveform import SPECTRUM, AudioTransform, clamped
from mycelia.dataset.transforms.checks import check_number, wrong_type


@dataclass(frozen=True, eq=False)
class AmplitudeToDB(AudioTransform):
    """Converts amplitudes or powers to decibels, at most `top_db` below the maximum."""

    layout = SPECTRUM
    stype: ScaleType = ScaleType.POWER
    ref_value: Positive = 1.0
    amin: Positive = 1e-10
    top_db: Positive = 80.0

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        factor = 10.0 if self.stype is ScaleType.POWER else 20.0
        return decibels(signal, factor, self.ref_value, self.amin, self.top_db)


def decibels(
    signal: np.ndarray,
    factor: float = 10.0,
    ref_value: float = 1.0,
    amin: float = 1e-10,
    top_db: float = 80.0,
) -> np.ndarray:
    """Convert to decibels, clipped relative to the maximum over all channels."""
    made = factor * np.log10(np.maximum(signal, signal.dtype.type(amin)))
    made -= factor * np.log10(max(amin, ref_value))
    axes = tuple(range(max(made.ndim - 3, 0), made.ndim))
    loudest = made.max(axis=axes, keepdims=True)
    return np.maximum(made, loudest - top_db)


@dataclass(frozen=True, eq=False)
class DBToAmplitude(AudioTransform):
    """Converts decibels to amplitudes (power=0.5) or powers (power=1)."""

    ref: Real
    power: Real

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        return (self.ref * 10 ** (0.1 * self.power * signal)).astype(signal.dtype)


@dataclass(frozen=True, eq=False)
class Vol(AudioTransform):
    """Changes the volume, clipped to [-1, 1]."""

    gain: Real
    gain_type: GainType = GainType.AMPLITUDE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gain_type is not GainType.DB:
            is_power = self.gain_type is GainType.POWER
            check_number("gain", self.gain, 0, MOST, open_low=is_power)

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        match self.gain_type:
            case GainType.AMPLITUDE:
                factor = self.gain
            case GainType.POWER:
                factor = np.sqrt(self.gain)
            case GainType.DB:
                factor = amplitude(self.gain)
        return clamped(signal * signal.dtype.type(factor))


@dataclass(frozen=True, eq=False)
class Gain(AudioTransform):
    """Amplifies the signal by some decibels."""

    gain_db: Real = 1.0

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        return signal * signal.dtype.type(amplitude(self.gain_db))


def amplitude(gain_db: float) -> float:
    """The amplitude factor of a gain in decibels."""
    return 10 ** (gain_db / 20)


@dataclass(frozen=True, eq=False)
class Fade(AudioTransform):
    """Fades the signal in at its beginning and out at its end."""

    fade_in_len: Length = 0
    fade_out_len: Length = 0
    fade_shape: FadeShape = FadeShape.LINEAR

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        length = signal.shape[-1]
        if max(self.fade_in_len, self.fade_out_len) > length:
            longest = max(self.fade_in_len, self.fade_out_len)
            raise self.refused(signal, f"{longest} samples or more, the length of a fade")
        curve = np.ones(length)
        curve[: self.fade_in_len] *= self._rise(self.fade_in_len)
        curve[length - self.fade_out_len :] *= self._rise(self.fade_out_len)[::-1]
        return signal * curve.astype(signal.dtype)

    def _rise(self, length: int) -> np.ndarray:
        return np.maximum(_RISES[self.fade_shape](np.linspace(0, 1, length)), 0)


_RISES = {
    FadeShape.LINEAR: lambda t: t,
    FadeShape.EXPONENTIAL: lambda t: 2 ** (t - 1) * t,
    FadeShape.LOGARITHMIC: lambda t: np.log10(0.1 + t) + 1,
    FadeShape.QUARTER_SINE: lambda t: np.sin(t * np.pi / 2),
    FadeShape.HALF_SINE: lambda t: np.sin(t * np.pi - np.pi / 2) / 2 + 0.5,
}


@dataclass(frozen=True, eq=False)
class Contrast(AudioTransform):
    """Increases the perceived loudness (SoX's contrast)."""

    enhancement_amount: Percent = 75.0

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        angle = signal * signal.dtype.type(np.pi / 2)
        return np.sin(angle + self.enhancement_amount / 750 * np.sin(angle * 4))


@dataclass(frozen=True, eq=False)
class DCShift(AudioTransform):
    """Adds a DC offset; a limiter softens what would exceed [-1, 1] (SoX's dcshift)."""

    shift: Shift
    limiter_gain: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limiter_gain is not None and not is_number(self.limiter_gain):
            raise wrong_type("limiter_gain", self.limiter_gain, "float, int or None")

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        moved = clamped(signal + signal.dtype.type(self.shift))
        if self.limiter_gain is None or self.shift == 0:
            return moved
        is_up = self.shift > 0
        threshold = 1 - (abs(self.shift) - self.limiter_gain)
        over = signal - threshold if is_up else signal + threshold
        with np.errstate(divide="ignore", invalid="ignore"):  # for a threshold of 1
            slope = np.divide(self.limiter_gain, 1 - threshold)
            limited = over * slope + threshold + self.shift
        if is_up:
            made = np.where(over > 0, np.minimum(limited, threshold), moved)
        else:
            made = np.where(over < 0, np.maximum(limited, -threshold), moved)
        return made.astype(signal.dtype)


@dataclass(frozen=True, eq=False)
class _MuLaw(AudioTransform):
    """Base class of mu-law companding (ITU-T G.711)."""

    quantization_channels: Count = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quantization_channels < 2:
            raise problem(
                RuntimeError, "quantization_channels: must be 2 or more", expected="2 or more"
            )


@dataclass(frozen=True, eq=False)
class MuLawEncoding(_MuLaw):
    """Encodes a signal with mu-law companding."""

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        most = self.quantization_channels - 1
        bent = np.sign(signal) * np.log1p(most * np.abs(signal)) / np.log1p(most)
        return ((bent + 1) / 2 * most + 0.5).astype(np.int32)


@dataclass(frozen=True, eq=False)
class MuLawDecoding(_MuLaw):
    """Decodes the integers of `MuLawEncoding`."""

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        most = self.quantization_channels - 1
        bent = signal / most * 2 - 1
        made = np.sign(bent) * np.expm1(np.abs(bent) * np.log1p(most)) / most
        return made.astype(signal.dtype)
