"""Enums of audio transforms."""

from __future__ import annotations

from enum import StrEnum


class BorderType(StrEnum):
    """How a signal is padded at its ends."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class DensityFunction(StrEnum):
    """The distribution of dither noise."""

    TPDF = "TPDF"
    RPDF = "RPDF"
    GPDF = "GPDF"


class FadeShape(StrEnum):
    """The curve of a fade."""

    QUARTER_SINE = "quarter_sine"
    HALF_SINE = "half_sine"
    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    EXPONENTIAL = "exponential"


class GainType(StrEnum):
    """The unit of a volume."""

    AMPLITUDE = "amplitude"
    POWER = "power"
    DB = "db"


class Interpolation(StrEnum):
    """How values between samples are interpolated."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"


class MelType(StrEnum):
    """The formula of the mel scale."""

    HTK = "htk"
    SLANEY = "slaney"


class Modulation(StrEnum):
    """The waveform that modulates a delay."""

    SINUSOIDAL = "sinusoidal"
    TRIANGULAR = "triangular"


class NormMode(StrEnum):
    """The normalization of a cosine transform."""

    ORTHO = "ortho"
    NONE = "none"


class NormType(StrEnum):
    """The normalization of mel filters."""

    SLANEY = "slaney"
    NONE = "none"


class ResampleMethod(StrEnum):
    """The window of the resampling filter."""

    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


class ScaleType(StrEnum):
    """Whether a spectrogram holds magnitudes or powers."""

    POWER = "power"
    MAGNITUDE = "magnitude"


class WindowType(StrEnum):
    """The window function of frames."""

    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"
