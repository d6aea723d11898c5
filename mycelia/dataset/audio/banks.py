"""Filter banks: mel filters, linear filters, and the discrete cosine transform."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.audio.options import MelType, NormMode, NormType
from mycelia.dataset.audio.parameters import Count, Length, NotNegative, Positive, check_value

_SLANEY_STEP = 200 / 3
_SLANEY_KNEE = 1000.0
_SLANEY_LOG_STEP = np.log(6.4) / 27


def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> np.ndarray:
    """The matrix of the discrete cosine transform (DCT-II), of [n_mels, n_mfcc]."""
    check_value("n_mfcc", n_mfcc, Count)
    check_value("n_mels", n_mels, Count)
    check_value("norm", norm, NormMode)
    return cosines(n_mfcc, n_mels, norm).copy()


def melscale_fbanks(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: NormType = NormType.NONE,
    mel_type: MelType = MelType.HTK,
) -> np.ndarray:
    """Triangular filters evenly spaced on the mel scale, of [n_freqs, n_mels]."""
    _check_bank(n_freqs, f_min, f_max, sample_rate)
    check_value("n_mels", n_mels, Count)
    check_value("norm", norm, NormType)
    check_value("mel_type", mel_type, MelType)
    return mel_bank(n_freqs, f_min, f_max, n_mels, sample_rate, norm, mel_type).copy()


def linear_fbanks(
    n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int
) -> np.ndarray:
    """Triangular filters evenly spaced in frequency, of [n_freqs, n_filter]."""
    _check_bank(n_freqs, f_min, f_max, sample_rate)
    check_value("n_filter", n_filter, Count)
    return linear_bank(n_freqs, f_min, f_max, n_filter, sample_rate).copy()


def check_band(f_min: float, f_max: float) -> None:
    """Check that a frequency band is not empty."""
    if f_min >= f_max:
        raise problem(
            ValueError,
            "f_min: the frequency band is empty",
            got=f"f_min={f_min}, f_max={f_max}",
            expected="f_min below f_max (below half of sample_rate without f_max)",
        )


@lru_cache(maxsize=32)
def cosines(n_mfcc: int, n_mels: int, norm: NormMode) -> np.ndarray:
    """The matrix of `create_dct`, for checked sizes."""
    indices = np.arange(n_mels)[:, None] + 0.5
    matrix = np.cos(np.pi / n_mels * indices * np.arange(n_mfcc))
    if norm is NormMode.NONE:
        return (2 * matrix).astype(np.float32)
    matrix[:, :1] /= np.sqrt(2)
    return (matrix * np.sqrt(2 / n_mels)).astype(np.float32)


@lru_cache(maxsize=32)
def mel_bank(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: NormType,
    mel_type: MelType,
) -> np.ndarray:
    """The matrix of `melscale_fbanks`, for checked sizes."""
    low, high = (_mel(frequency, mel_type) for frequency in (f_min, f_max))
    corners = _hertz(np.linspace(low, high, n_mels + 2), mel_type)
    bank = _triangles(n_freqs, sample_rate, corners)
    if norm is NormType.SLANEY:
        bank = bank * (2 / (corners[2:] - corners[:-2]))
    return bank.astype(np.float32)


@lru_cache(maxsize=32)
def linear_bank(
    n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int
) -> np.ndarray:
    """The matrix of `linear_fbanks`, for checked sizes."""
    corners = np.linspace(f_min, f_max, n_filter + 2)
    return _triangles(n_freqs, sample_rate, corners).astype(np.float32)


def _check_bank(n_freqs: int, f_min: float, f_max: float, sample_rate: int) -> None:
    check_value("n_freqs", n_freqs, Length)
    check_value("f_min", f_min, NotNegative)
    check_value("f_max", f_max, Positive)
    check_value("sample_rate", sample_rate, Count)
    check_band(f_min, f_max)


def _triangles(n_freqs: int, sample_rate: int, corners: np.ndarray) -> np.ndarray:
    """Filters that rise from one corner frequency to the next and fall to the one after."""
    frequencies = np.linspace(0, sample_rate / 2, n_freqs)[:, None]
    steps = np.diff(corners)
    rising = (frequencies - corners[:-2]) / steps[:-1]
    falling = (corners[2:] - frequencies) / steps[1:]
    return np.fmax(0, np.minimum(rising, falling))


def _mel(frequency: float, kind: MelType) -> float:
    if kind is MelType.HTK:
        with np.errstate(invalid="ignore"):  # the mel scale is undefined below -700 Hz
            return 2595 * np.log10(1 + frequency / 700)
    if frequency < _SLANEY_KNEE:
        return frequency / _SLANEY_STEP
    return _SLANEY_KNEE / _SLANEY_STEP + np.log(frequency / _SLANEY_KNEE) / _SLANEY_LOG_STEP


def _hertz(mels: np.ndarray, kind: MelType) -> np.ndarray:
    if kind is MelType.HTK:
        return 700 * (10 ** (mels / 2595) - 1)
    knee = _SLANEY_KNEE / _SLANEY_STEP
    above = _SLANEY_KNEE * np.exp(_SLANEY_LOG_STEP * (np.maximum(mels, knee) - knee))
    return np.where(mels < knee, mels * _SLANEY_STEP, above)
