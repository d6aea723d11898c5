"""Mel spectrograms and their inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.audio.banks import check_band, mel_bank
from mycelia.dataset.audio.options import BorderType, MelType, NormType, WindowType
from mycelia.dataset.audio.parameters import (
    Count,
    Length,
    MelRate,
    NotNegative,
    Positive,
    Real,
    check_value,
)
from mycelia.dataset.audio.spectra import Spectrogram, check_powers, check_window
from mycelia.dataset.audio.waveform import SPECTRUM, AudioTransform
from mycelia.dataset.transforms.checks import wrong_type

_STEPS = {"sgd_lr": 0.1, "sgd_momentum": 0.9}


@dataclass(frozen=True, eq=False)
class MelScale(AudioTransform):
    """Converts a spectrogram to the mel scale."""

    layout = SPECTRUM
    n_mels: Count = 128
    sample_rate: MelRate = 16000
    f_min: Real = 0.0
    f_max: Positive | None = None
    n_stft: Count = 201
    norm: NormType = NormType.NONE
    mel_type: MelType = MelType.HTK

    def __post_init__(self) -> None:
        super().__post_init__()
        check_band(self.f_min, highest(self.f_max, self.sample_rate))

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        if signal.shape[-2] != self.n_stft:
            raise self.refused(signal, f"n_stft={self.n_stft} frequencies")
        return over_mels(self, signal, self.n_stft, self.mel_type)


@dataclass(frozen=True, eq=False)
class MelSpectrogram(AudioTransform):
    """The mel spectrogram of a signal."""

    sample_rate: MelRate = 16000
    n_fft: Count = 400
    win_length: Count | None = None
    hop_length: Count | None = None
    f_min: Real = 0.0
    f_max: NotNegative | None = None
    pad: Length = 0
    n_mels: Length = 128
    window: WindowType = WindowType.HANN
    power: Positive = 2.0
    normalized: bool = False
    center: bool = True
    pad_mode: BorderType = BorderType.REFLECT
    onesided: bool = True
    norm: NormType = NormType.NONE
    mel_scale: MelType = MelType.HTK

    def __post_init__(self) -> None:
        super().__post_init__()
        check_window(self.win_length, self.n_fft)
        check_powers("MelSpectrogram", self.power, self.onesided)
        check_band(self.f_min, highest(self.f_max, self.sample_rate))

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        powers = Spectrogram(
            self.n_fft,
            self.win_length,
            self.hop_length,
            self.pad,
            self.window,
            self.power,
            self.normalized,
            self.center,
            self.pad_mode,
            self.onesided,
        ).change(signal, None)
        return over_mels(self, powers, powers.shape[-2], self.mel_scale)


def over_mels(owner: Any, powers: np.ndarray, rows: int, kind: MelType) -> np.ndarray:
    """Apply the mel filters of a transform to a spectrogram."""
    bank = _bank(owner, rows, kind).astype(powers.dtype, copy=False)
    return np.matmul(bank.T, powers)


def highest(f_max: float | None, sample_rate: int) -> float:
    """The upper end of a frequency band; half of the sample rate if it is None or 0."""
    return f_max or sample_rate // 2


def _bank(owner: Any, rows: int, kind: MelType) -> np.ndarray:
    top = highest(owner.f_max, owner.sample_rate)
    return mel_bank(rows, owner.f_min, top, owner.n_mels, owner.sample_rate, owner.norm, kind)


@dataclass(frozen=True, eq=False)
class InverseMelScale(AudioTransform):
    """Estimates a spectrogram from a mel spectrogram by gradient descent."""

    is_random = True
    layout = SPECTRUM
    n_stft: Count
    n_mels: Count = 128
    sample_rate: MelRate = 16000
    f_min: Real = 0.0
    f_max: Positive | None = None
    max_iter: Count = 100000
    tolerance_loss: Positive = 1e-5
    tolerance_change: Positive = 1e-8
    sgdargs: Any = None
    norm: NormType = NormType.NONE
    mel_type: MelType = MelType.HTK

    def __post_init__(self) -> None:
        super().__post_init__()
        check_band(self.f_min, highest(self.f_max, self.sample_rate))
        if self.sgdargs is None:
            return
        if not isinstance(self.sgdargs, dict):
            raise wrong_type("sgdargs", self.sgdargs, "dict or None")
        if unknown := self.sgdargs.keys() - _STEPS.keys():
            raise problem(
                ValueError,
                f"sgdargs: unknown keys: {', '.join(map(str, unknown))}",
                expected=" and ".join(_STEPS),
            )
        for name, value in self.sgdargs.items():
            check_value(name, value, NotNegative)

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        if signal.shape[-2] != self.n_mels:
            raise self.refused(signal, f"n_mels={self.n_mels} rows")
        bank = _bank(self, self.n_stft, self.mel_type).astype(signal.dtype, copy=False)
        mels = np.swapaxes(signal.reshape(-1, *signal.shape[-2:]), -1, -2)
        found = self._descend(mels, bank, random.random((*mels.shape[:-1], self.n_stft)))
        leading = signal.shape[:-2] or (1,)
        made = np.swapaxes(found, -1, -2).reshape(*leading, self.n_stft, signal.shape[-1])
        return made.astype(signal.dtype)

    def _descend(self, mels: np.ndarray, bank: np.ndarray, guess: np.ndarray) -> np.ndarray:
        settings = _STEPS | (self.sgdargs or {})
        speed, loss, columns = np.zeros_like(guess), np.inf, np.prod(mels.shape[:-1])
        for _ in range(self.max_iter):
            missing = mels - guess @ bank
            new_loss = float(np.sum(missing**2) / columns)
            speed = settings["sgd_momentum"] * speed - 2 / columns * missing @ bank.T
            guess = np.maximum(guess - settings["sgd_lr"] * speed, 0)
            if new_loss < self.tolerance_loss or abs(loss - new_loss) < self.tolerance_change:
                break
            loss = new_loss
        return guess
