"""Speech features: MFCC, LFCC, deltas, cepstral mean normalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.audio.banks import check_band, cosines, linear_bank
from mycelia.dataset.audio.fourier import padded
from mycelia.dataset.audio.levels import decibels
from mycelia.dataset.audio.mels import MelSpectrogram, highest
from mycelia.dataset.audio.options import BorderType, NormMode
from mycelia.dataset.audio.parameters import Count, DeltaLength, Length, MelRate, NotNegative
from mycelia.dataset.audio.spectra import Spectrogram, check_powers
from mycelia.dataset.audio.waveform import SPECTRUM, AudioTransform
from mycelia.dataset.transforms.checks import wrong_type

_LEAST_POWER = 1e-6


@dataclass(frozen=True, eq=False)
class MFCC(AudioTransform):
    """Mel-frequency cepstral coefficients, from decibels or logarithms."""

    sample_rate: Length = 16000
    n_mfcc: Length = 40
    dct_type: int = 2
    norm: NormMode = NormMode.ORTHO
    log_mels: bool = False
    melkwargs: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_cosines("melkwargs", self.melkwargs, self.dct_type)
        if self.n_mfcc > self._mels().n_mels:
            raise problem(
                RuntimeError,
                "n_mfcc: must not exceed n_mels",
                got=f"n_mfcc={self.n_mfcc}, n_mels={self._mels().n_mels}",
            )

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        mels = self._mels()
        return _cepstra(mels.change(signal, None), self.n_mfcc, self.norm, self.log_mels)

    def _mels(self) -> MelSpectrogram:
        return MelSpectrogram(sample_rate=self.sample_rate, **(self.melkwargs or {}))


@dataclass(frozen=True, eq=False)
class LFCC(AudioTransform):
    """Linear-frequency cepstral coefficients."""

    sample_rate: MelRate = 16000
    n_filter: Count = 128
    n_lfcc: Count = 40
    f_min: NotNegative = 0.0
    f_max: NotNegative | None = None
    dct_type: int = 2
    norm: NormMode = NormMode.ORTHO
    log_lf: bool = False
    speckwargs: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_band(self.f_min, highest(self.f_max, self.sample_rate))
        _check_cosines("speckwargs", self.speckwargs, self.dct_type)
        spectra = self._spectra()
        check_powers("LFCC", spectra.power, spectra.onesided)

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        powers = self._spectra().change(signal, None)
        top = highest(self.f_max, self.sample_rate)
        rows = powers.shape[-2]
        bank = linear_bank(rows, self.f_min, top, self.n_filter, self.sample_rate)
        filtered = np.matmul(bank.T.astype(powers.dtype), powers)
        return _cepstra(filtered, self.n_lfcc, self.norm, self.log_lf)

    def _spectra(self) -> Spectrogram:
        return Spectrogram(**(self.speckwargs or {}))


def _cepstra(powers: np.ndarray, count: int, norm: NormMode, in_logs: bool) -> np.ndarray:
    loud = np.log(powers + powers.dtype.type(_LEAST_POWER)) if in_logs else decibels(powers)
    matrix = cosines(count, powers.shape[-2], norm)
    return np.matmul(matrix.T.astype(powers.dtype), loud)


def _check_cosines(argument: str, settings: Any, dct_type: Any) -> None:
    if settings is not None and not isinstance(settings, dict):
        raise wrong_type(argument, settings, "dict or None")
    if dct_type != 2:
        raise problem(
            ValueError, "dct_type: only type 2 is supported", got=repr(dct_type), expected="2"
        )


@dataclass(frozen=True, eq=False)
class ComputeDeltas(AudioTransform):
    """Delta features: the slope of a line fitted to the frames around each frame."""

    layout = SPECTRUM
    win_length: DeltaLength = 5
    pad_mode: BorderType = BorderType.EDGE

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        reach = (self.win_length - 1) // 2
        steps = np.arange(-reach, reach + 1, dtype=signal.dtype)
        whole = padded(signal, reach, self.pad_mode)
        views = np.lib.stride_tricks.sliding_window_view(whole, 2 * reach + 1, axis=-1)
        return (views @ steps / np.sum(steps**2)).astype(signal.dtype)


@dataclass(frozen=True, eq=False)
class SlidingWindowCmn(AudioTransform):
    """Subtracts the mean of the surrounding frames, and divides by the deviation (Kaldi's cmn)."""

    layout = SPECTRUM
    cmn_window: Length = 600
    min_cmn_window: Length = 100
    center: bool = False
    norm_vars: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.center and self.cmn_window == 0:
            raise problem(
                RuntimeError, "cmn_window: a centered window needs at least one frame", got="0"
            )

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        starts, ends = self._windows(signal.shape[-2])
        counts = (ends - starts)[:, None]
        frames = signal.astype(np.float64)
        means = _window_sums(frames, starts, ends) / counts
        made = frames - means
        if self.norm_vars:
            spread = _window_sums(frames**2, starts, ends) / counts - means**2
            lone = counts == 1
            with np.errstate(divide="ignore", invalid="ignore"):  # constant frames
                made = np.where(lone, 0, made / np.sqrt(spread))
        return made.astype(signal.dtype)

    def _windows(self, frames: int) -> tuple[np.ndarray, np.ndarray]:
        """The start and end of the window of each frame."""
        indices = np.arange(frames)
        if self.center:
            starts = indices - self.cmn_window // 2
            ends = starts + self.cmn_window
        else:
            starts, ends = indices - self.cmn_window, indices + 1
        late = np.maximum(-starts, 0)
        starts, ends = starts + late, ends + late if self.center else ends
        if not self.center:
            ends = np.where(ends > self.min_cmn_window, ends, self.min_cmn_window)
        early = np.maximum(ends - frames, 0)
        return np.maximum(starts - early, 0), ends - early


def _window_sums(frames: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    widths = [(0, 0)] * (frames.ndim - 2) + [(1, 0), (0, 0)]
    sums = np.pad(np.cumsum(frames, axis=-2), widths)
    return np.take(sums, ends, axis=-2) - np.take(sums, starts, axis=-2)
