"""Resampling, time stretching, and pitch shifting."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from mycelia.dataset.audio.fourier import fitted, frames_of
from mycelia.dataset.audio.options import ResampleMethod, WindowType
from mycelia.dataset.audio.parameters import Count, Integer, Length, Positive, Rate, Rolloff
from mycelia.dataset.audio.scipy import scipy_signal
from mycelia.dataset.audio.spectra import check_window
from mycelia.dataset.audio.waveform import (
    COMPLEX_SPECTRUM,
    AudioTransform,
    as_complex,
    as_pairs,
)
from mycelia.dataset.transforms.checks import wrong_type

_KAISER_BETA = 14.769656459379492


@dataclass(frozen=True, eq=False)
class Resample(AudioTransform):
    """Resamples a signal with a windowed sinc (J. O. Smith, "Digital audio resampling")."""

    orig_freq: Positive = 16000
    new_freq: Positive = 16000
    resample_method: ResampleMethod = ResampleMethod.SINC_INTERPOLATION
    lowpass_filter_width: Count = 6
    rolloff: Rolloff = 0.99
    beta: Any = None

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        if min(int(self.orig_freq), int(self.new_freq)) < 1:
            raise self.refused(signal, "an orig_freq and a new_freq of 1 or more")
        beta = None
        if self.resample_method is ResampleMethod.KAISER_WINDOW:
            beta = _KAISER_BETA if self.beta is None else self.beta
        rates = int(self.orig_freq), int(self.new_freq)
        return resampled("Resample", signal, rates, self.lowpass_filter_width, self.rolloff, beta)


def resampled(
    owner: str,
    signal: np.ndarray,
    rates: tuple[int, int],
    width: int = 6,
    rolloff: float = 0.99,
    beta: float | None = None,
) -> np.ndarray:
    """Resample a signal; `beta` selects a Kaiser window instead of a Hann window."""
    shared = math.gcd(*rates)
    old, new = rates[0] // shared, rates[1] // shared
    if old == new:
        return signal.copy()
    kernel, late = _sinc(old, new, width, rolloff, beta)
    count = math.ceil(new * signal.shape[-1] / old)
    polyphase = scipy_signal(owner).upfirdn
    made = polyphase(kernel.astype(signal.dtype), signal, new, old)[..., late : late + count]
    return np.ascontiguousarray(fitted(made, count))


@lru_cache(maxsize=32)
def _sinc(
    old: int, new: int, width: int, rolloff: float, beta: float | None
) -> tuple[np.ndarray, int]:
    """The kernel at `old * new` samples, and its delay in new samples."""
    cutoff = min(old, new) * rolloff
    reach = math.ceil(width * old * new / cutoff)
    late = math.ceil(reach / old)
    times = np.arange(-late * old, reach + 1) * cutoff / (old * new)
    times = np.clip(times, -width, width)
    if beta is None:
        shape = np.cos(times * np.pi / width / 2) ** 2
    else:
        shape = np.i0(beta * np.sqrt(1 - (times / width) ** 2)) / np.i0(beta)
    return np.sinc(times) * shape * cutoff / old, late


@dataclass(frozen=True, eq=False)
class PhaseVocoder(AudioTransform):
    """Changes the speed of a spectrogram; `phase_advance` is the phase change per frame."""

    layout = COMPLEX_SPECTRUM
    rate: Positive
    phase_advance: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.phase_advance, np.ndarray):
            raise wrong_type("phase_advance", self.phase_advance, "numpy.ndarray")

    def as_floats(self, signal: np.ndarray) -> np.ndarray:
        rows = signal.shape[-3], 1
        if signal.dtype.kind != "f" or signal.dtype != self.phase_advance.dtype:
            raise self.refused(signal, f"{self.phase_advance.dtype}, the type of phase_advance")
        if self.phase_advance.shape != rows:
            raise self.refused(signal, f"phase_advance of {list(rows)}")
        return signal

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        made = vocoded(as_complex(signal), self.rate, self.phase_advance)
        return as_pairs(made).astype(signal.dtype)


def vocoded(spectra: np.ndarray, rate: float, advance: np.ndarray) -> np.ndarray:
    """Change the speed of a spectrogram (Flanagan and Golden, 1966)."""
    if rate == 1:
        return spectra
    steps = np.arange(0, spectra.shape[-1], rate)
    whole = steps.astype(np.int64)
    ends = np.pad(spectra, [(0, 0)] * (spectra.ndim - 1) + [(0, 2)])
    before, after = ends[..., whole], ends[..., whole + 1]
    turns = np.angle(after) - np.angle(before) - advance
    turns = turns - 2 * np.pi * np.round(turns / (2 * np.pi)) + advance
    first = np.angle(spectra[..., :1])
    phases = np.cumsum(np.concatenate([first, turns[..., :-1]], axis=-1), axis=-1)
    shares = steps - whole
    sizes = shares * np.abs(after) + (1 - shares) * np.abs(before)
    return sizes * np.exp(1j * phases)


@dataclass(frozen=True, eq=False)
class TimeStretch(AudioTransform):
    """Changes the speed of a spectrogram and keeps its pitch."""

    layout = COMPLEX_SPECTRUM
    hop_length: Count | None = None
    n_freq: Count = 201
    fixed_rate: Positive | None = None

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        if self.fixed_rate is None or self.fixed_rate == 1:
            return signal.copy()
        if signal.shape[-3] != self.n_freq:
            raise self.refused(signal, f"n_freq={self.n_freq} frequencies")
        hop = self.n_freq - 1 if self.hop_length is None else self.hop_length
        advance = turns_per_frame(self.n_freq, hop)
        return as_pairs(vocoded(as_complex(signal), self.fixed_rate, advance)).astype(signal.dtype)


def turns_per_frame(rows: int, hop: int) -> np.ndarray:
    """The expected phase change of each frequency from frame to frame."""
    return np.linspace(0, np.pi * hop, rows)[:, None]


@dataclass(frozen=True, eq=False)
class PitchShift(AudioTransform):
    """Shifts the pitch of a signal by some steps and keeps its speed."""

    sample_rate: Length
    n_steps: Integer
    bins_per_octave: Rate = 12
    n_fft: Count = 512
    win_length: Count | None = None
    hop_length: Count | None = None
    window: WindowType = WindowType.HANN

    def __post_init__(self) -> None:
        super().__post_init__()
        check_window(self.win_length, self.n_fft)

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        length = signal.shape[-1]
        size = self.win_length or self.n_fft
        hop = self.hop_length or max(size // 4, 1)
        frames = replace(frames_of(self, self.window), hop_length=hop)
        rate = 2.0 ** (-self.n_steps / self.bins_per_octave)
        if int(self.sample_rate / rate) < 1:
            raise self.refused(signal, "a sample_rate of 1 or more")
        spectra = frames.spectra("PitchShift", signal)
        advance = turns_per_frame(spectra.shape[-2], hop)
        slowed = frames.signal(vocoded(spectra, rate, advance), round(length / rate))
        made = resampled("PitchShift", slowed, (int(self.sample_rate / rate), self.sample_rate))
        return fitted(made, length).astype(signal.dtype)
