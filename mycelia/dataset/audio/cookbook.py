"""Biquad filter coefficients from frequency, quality factor (Q), and gain.

Robert Bristow-Johnson, "Audio EQ Cookbook" (W3C note, 2021); SoX's manual for the band filter,
the de-emphasis of compact discs and the RIAA curve of vinyl records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

Coefficients = tuple[tuple[float, float, float], tuple[float, float, float]]


@dataclass(frozen=True)
class Tone:
    """A frequency (as the angle between two samples), a quality factor, and a gain in decibels."""

    angle: float
    quality: float
    gain: float = 0.0

    @cached_property
    def cos(self) -> float:
        return np.cos(self.angle)

    @cached_property
    def alpha(self) -> float:
        return np.sin(self.angle) / (2 * self.quality)

    @cached_property
    def amplitude(self) -> float:
        return 10 ** (self.gain / 40)


def _resonance(tone: Tone) -> tuple[float, float, float]:
    """The recursive coefficients that most filters share."""
    return 1 + tone.alpha, -2 * tone.cos, 1 - tone.alpha


def _lowpass(tone: Tone) -> Coefficients:
    half = (1 - tone.cos) / 2
    return (half, 2 * half, half), _resonance(tone)


def _highpass(tone: Tone) -> Coefficients:
    half = (1 + tone.cos) / 2
    return (half, -2 * half, half), _resonance(tone)


def _equalizer(tone: Tone) -> Coefficients:
    up, down = tone.alpha * tone.amplitude, tone.alpha / tone.amplitude
    return (1 + up, -2 * tone.cos, 1 - up), (1 + down, -2 * tone.cos, 1 - down)


def _low_shelf(tone: Tone) -> Coefficients:
    return shelf(tone.amplitude, tone.cos, tone.alpha)


def _high_shelf(tone: Tone) -> Coefficients:
    (b0, b1, b2), (a0, a1, a2) = shelf(tone.amplitude, -tone.cos, tone.alpha)
    return (b0, -b1, b2), (a0, -a1, a2)


def shelf(amplitude: float, cos: float, alpha: float) -> Coefficients:
    """The low shelf; the high shelf is its mirror image."""
    more, less = amplitude + 1, amplitude - 1
    slope = 2 * np.sqrt(amplitude) * alpha
    forward = (
        amplitude * (more - less * cos + slope),
        2 * amplitude * (less - more * cos),
        amplitude * (more - less * cos - slope),
    )
    return forward, (more + less * cos + slope, -2 * (less + more * cos), more + less * cos - slope)


def _band(tone: Tone) -> Coefficients:
    """Two poles at a frequency, for music."""
    a2 = np.exp(-tone.angle / tone.quality)
    a1 = -4 * a2 / (1 + a2) * tone.cos
    return (np.sqrt(1 - a1**2 / (4 * a2)) * (1 - a2), 0, 0), (1, a1, a2)


def _noise_band(tone: Tone) -> Coefficients:
    """The same poles, scaled for noise."""
    _, (a0, a1, a2) = _band(tone)
    return (np.sqrt(((1 + a2) ** 2 - a1**2) * (1 - a2) / (1 + a2)), 0, 0), (a0, a1, a2)


RESPONSES: dict[str, Callable[[Tone], Coefficients]] = {
    "allpass": lambda t: ((1 - t.alpha, -2 * t.cos, 1 + t.alpha), _resonance(t)),
    "band": _band,
    "noise band": _noise_band,
    "bandpass": lambda t: ((t.alpha, 0, -t.alpha), _resonance(t)),
    "skirt bandpass": lambda t: (
        (t.alpha * t.quality, 0, -t.alpha * t.quality),
        _resonance(t),
    ),
    "bandreject": lambda t: ((1, -2 * t.cos, 1), _resonance(t)),
    "bass": _low_shelf,
    "treble": _high_shelf,
    "equalizer": _equalizer,
    "lowpass": _lowpass,
    "highpass": _highpass,
}

# sample rate -> frequency, slope, and gain of the shelf
DEEMPHASIS = {44100: (5283.0, 0.4845, -9.477), 48000: (5356.0, 0.479, -9.62)}

# sample rate -> zeros and poles
RIAA = {
    44100: ((-0.2014898, 0.9233820), (0.7083149, 0.9924091)),
    48000: ((-0.1766069, 0.9321590), (0.7396325, 0.9931330)),
    88200: ((-0.1168735, 0.9648312), (0.8590646, 0.9964002)),
    96000: ((-0.1141486, 0.9676817), (0.8699137, 0.9966946)),
}


def deemphasis(sample_rate: int) -> Coefficients:
    """The high shelf for the de-emphasis of compact discs."""
    frequency, slope, gain = DEEMPHASIS[sample_rate]
    amplitude = 10 ** (gain / 40)
    steepness = (amplitude + 1 / amplitude) * (1 / slope - 1) + 2
    return _high_shelf(Tone(2 * np.pi * frequency / sample_rate, 1 / np.sqrt(steepness), gain))


def riaa(sample_rate: int) -> Coefficients:
    """The RIAA curve of vinyl records, with gain 1 at 1 kHz."""
    zeros, poles = RIAA[sample_rate]
    step = np.exp(-2j * np.pi * 1000 / sample_rate)
    forward, back = np.poly(zeros), np.poly(poles)
    response = np.polyval(forward[::-1], step) / np.polyval(back[::-1], step)
    b0, b1, b2 = forward / np.abs(response)
    a0, a1, a2 = back
    return (b0, b1, b2), (a0, a1, a2)
