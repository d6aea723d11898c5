"""Spectrograms and their inverse, spectral centroid, and Griffin-Lim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.audio.fourier import FrameOptions, fitted, frames_of, padded
from mycelia.dataset.audio.options import BorderType, WindowType
from mycelia.dataset.audio.parameters import Count, Length, NotNegative, Positive
from mycelia.dataset.audio.waveform import (
    COMPLEX_SPECTRUM,
    SPECTRUM,
    AudioTransform,
    as_complex,
    as_pairs,
)


@dataclass(frozen=True, eq=False)
class Spectrogram(AudioTransform):
    """The power spectrogram of a signal; complex numbers as pairs if power=0."""

    n_fft: Count = 400
    win_length: Count | None = None
    hop_length: Count | None = None
    pad: Length = 0
    window: WindowType = WindowType.HANN
    power: NotNegative = 2.0
    normalized: bool = False
    center: bool = True
    pad_mode: BorderType = BorderType.REFLECT
    onesided: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_window(self.win_length, self.n_fft)

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        frames = frames_of(
            self,
            self.window,
            center=self.center,
            pad_mode=self.pad_mode,
            onesided=self.onesided,
        )
        return spectrogram(
            type(self).__name__, signal, frames, self.pad, self.power, self.normalized
        )


def spectrogram(
    owner: str, signal: np.ndarray, frames: FrameOptions, pad: int, power: float, normalized: bool
) -> np.ndarray:
    """The power spectrogram, or the complex spectra as pairs if power is 0."""
    if pad:
        signal = padded(signal, pad, BorderType.CONSTANT)
    spectra = frames.spectra(owner, signal)
    if normalized:
        spectra = spectra / np.sqrt(np.sum(frames.window**2))
    if power == 0:
        return as_pairs(spectra).astype(signal.dtype)
    return (np.abs(spectra) ** power).astype(signal.dtype)


@dataclass(frozen=True, eq=False)
class InverseSpectrogram(AudioTransform):
    """The signal of a complex spectrogram."""

    layout = COMPLEX_SPECTRUM
    length: Length | None = None
    n_fft: Count = 400
    win_length: Count | None = None
    hop_length: Count | None = None
    pad: Length = 0
    window: WindowType = WindowType.HANN
    normalized: bool = False
    center: bool = True
    pad_mode: BorderType = BorderType.REFLECT
    onesided: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_window(self.win_length, self.n_fft)

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        frames = frames_of(self, self.window, center=self.center)
        half = signal if self.onesided else signal[..., : self.n_fft // 2 + 1, :, :]
        check_frequencies(type(self).__name__, half.shape[-3], self.n_fft)
        spectra = as_complex(half)
        if self.normalized:
            spectra = spectra * np.sqrt(np.sum(frames.window**2))
        length = None if self.length is None else self.length + 2 * self.pad
        made = frames.signal(spectra, length)
        if self.pad:
            made = made[..., self.pad : -self.pad]
        return made.astype(signal.dtype)


@dataclass(frozen=True, eq=False)
class SpectralCentroid(AudioTransform):
    """The spectral centroid: the mean frequency of each frame, weighted by magnitude."""

    sample_rate: Length
    n_fft: Count = 400
    win_length: Count | None = None
    hop_length: Count | None = None
    pad: Length = 0
    window: WindowType = WindowType.HANN

    def __post_init__(self) -> None:
        super().__post_init__()
        check_window(self.win_length, self.n_fft)

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        frames = frames_of(self, self.window)
        sizes = spectrogram(type(self).__name__, signal, frames, self.pad, 1.0, False)
        frequencies = np.linspace(0, self.sample_rate // 2, sizes.shape[-2])[:, None]
        with np.errstate(invalid="ignore"):
            means = (sizes * frequencies).sum(axis=-2) / sizes.sum(axis=-2)
        return means[..., None, :].astype(signal.dtype)


@dataclass(frozen=True, eq=False)
class GriffinLim(AudioTransform):
    """Estimates a signal without phases (Griffin and Lim, 1984; Perraudin et al., 2013)."""

    layout = SPECTRUM
    n_fft: Count = 400
    n_iter: Count = 32
    win_length: Length | None = None
    hop_length: Length | None = None
    window_type: WindowType = WindowType.HANN
    power: Positive = 2.0
    momentum: NotNegative = 0.99
    length: Length | None = None
    rand_init: bool = True

    @property
    def is_random(self) -> bool:
        return self.rand_init

    def __post_init__(self) -> None:
        super().__post_init__()
        check_window(self.win_length, self.n_fft)

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        check_frequencies(type(self).__name__, signal.shape[-2], self.n_fft)
        frames = frames_of(self, self.window_type)
        flat = signal if signal.ndim == 2 else signal.reshape(-1, *signal.shape[-2:])
        sizes = flat.astype(np.float64) ** (1 / self.power)
        phases = np.ones(sizes.shape, np.complex128)
        if self.rand_init:
            phases = random.random(sizes.shape) + 1j * random.random(sizes.shape)
        speed, before = self.momentum / (1 + 2 * self.momentum), np.zeros_like(phases)
        for _ in range(self.n_iter):
            guess = frames.spectra("GriffinLim", frames.signal(sizes * phases, self.length))
            guess = fitted(guess, sizes.shape[-1])
            phases = guess - speed * before
            phases /= np.abs(phases) + 1e-16
            before = guess
        return frames.signal(sizes * phases, self.length).astype(signal.dtype)


def check_window(win_length: int | None, n_fft: int) -> None:
    """Check that the window is not longer than the frame."""
    if win_length is not None and win_length > n_fft:
        raise problem(
            ValueError,
            "win_length: the window is longer than the frame",
            got=f"win_length={win_length}, n_fft={n_fft}",
            expected="win_length of at most n_fft",
        )


def check_powers(owner: str, power: float, onesided: bool) -> None:
    """Check that a filter bank receives powers of a one-sided spectrogram."""
    if power == 0 or not onesided:
        raise problem(
            RuntimeError,
            f"{owner}: filters require a one-sided power spectrogram",
            got=f"power={power}, onesided={onesided}",
            expected="power above 0, onesided=True",
        )


def check_frequencies(owner: str, got: int, n_fft: int) -> None:
    """Check that the number of frequencies of a spectrogram matches n_fft."""
    expected = n_fft // 2 + 1
    if got != expected:
        raise problem(
            RuntimeError,
            f"{owner}: the number of frequencies does not match n_fft",
            got=f"{got} frequencies, n_fft={n_fft}",
            expected=f"{expected} frequencies",
        )
