"""IIR filters: of any order, and the biquad family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.audio.cookbook import DEEMPHASIS, RESPONSES, RIAA, Coefficients, Tone
from mycelia.dataset.audio.cookbook import deemphasis as deemphasis_coefficients
from mycelia.dataset.audio.cookbook import riaa as riaa_coefficients
from mycelia.dataset.audio.parameters import NotZero, Quality, Rate, Real, check_value
from mycelia.dataset.audio.scipy import scipy_signal
from mycelia.dataset.audio.waveform import AudioTransform, clamped
from mycelia.dataset.transforms.checks import wrong_type


@dataclass(frozen=True, eq=False)
class _AudioFilter(AudioTransform):
    """Base class of filters, which keep the floating-point type of signals."""

    def as_floats(self, signal: np.ndarray) -> np.ndarray:
        if signal.dtype.kind != "f":
            raise self.refused(signal, "float16, float32 or float64")
        return signal

    def filtered(self, signal: np.ndarray, b: Any, a: Any) -> np.ndarray:
        """Filter the signal with these coefficients, in float64."""
        return scipy_signal(type(self).__name__).lfilter(b, a, signal.astype(np.float64))


@dataclass(frozen=True, eq=False)
class LFilter(_AudioFilter):
    """An IIR filter with coefficients for its output (`a_coeffs`) and its input (`b_coeffs`)."""

    a_coeffs: Any
    b_coeffs: Any
    clamp: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("a_coeffs", "b_coeffs"):
            _check_coefficients(name, getattr(self, name))
        if len(self.a_coeffs) != len(self.b_coeffs):
            raise problem(
                ValueError,
                f"{type(self).__name__}: a_coeffs and b_coeffs differ in length",
                got=f"{len(self.a_coeffs)} and {len(self.b_coeffs)}",
            )
        if not self.a_coeffs or self.a_coeffs[0] == 0:
            raise problem(
                RuntimeError,
                f"{type(self).__name__}: the first of a_coeffs must not be 0",
                got=repr(self.a_coeffs),
                expected="a list that starts with a number other than 0",
            )

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        made = self.filtered(signal, self.b_coeffs, self.a_coeffs)
        return (clamped(made) if self.clamp else made).astype(signal.dtype)


@dataclass(frozen=True, eq=False)
class Filtfilt(LFilter):
    """Applies the filter forwards and backwards, which preserves phases."""

    def filtered(self, signal: np.ndarray, b: Any, a: Any) -> np.ndarray:
        forwards = super().filtered(signal, b, a)
        return super().filtered(forwards[..., ::-1], b, a)[..., ::-1]


def _check_coefficients(argument: str, value: Any) -> None:
    if not isinstance(value, (list, tuple)):
        raise wrong_type(argument, value, "list or tuple of numbers")
    for index, entry in enumerate(value):
        check_value(f"{argument}[{index}]", entry, Real)


@dataclass(frozen=True, eq=False)
class _SecondOrder(_AudioFilter):
    """Base class of biquads: three coefficients each for input and output."""

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        return clamped(self.filtered(signal, *self.coefficients())).astype(signal.dtype)

    def coefficients(self) -> Coefficients:
        """The coefficients for the input, then those for the output."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Biquad(_SecondOrder):
    """A biquad filter with given coefficients."""

    b0: Real
    b1: Real
    b2: Real
    a0: NotZero
    a1: Real
    a2: Real

    def coefficients(self) -> Coefficients:
        return (self.b0, self.b1, self.b2), (self.a0, self.a1, self.a2)


@dataclass(frozen=True, eq=False)
class _Cookbook(_SecondOrder):
    """Base class of biquads designed from a frequency, a quality factor, and a gain."""

    response: ClassVar[str]
    frequency: ClassVar[str] = "central_freq"

    def coefficients(self) -> Coefficients:
        given = self.parameters()
        angle = 2 * np.pi * given[self.frequency] / given["sample_rate"]
        return RESPONSES[self.kind()](Tone(angle, given["Q"], given.get("gain", 0.0)))

    def kind(self) -> str:
        """The key in the table of responses."""
        return self.response


@dataclass(frozen=True, eq=False)
class AllpassBiquad(_Cookbook):
    """Two-pole all-pass filter."""

    response = "allpass"
    sample_rate: Rate
    central_freq: Real
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class BandBiquad(_Cookbook):
    """Two-pole band filter."""

    response = "band"
    sample_rate: Rate
    central_freq: Real
    Q: Quality = 0.707
    noise: bool = False

    def kind(self) -> str:
        return "noise band" if self.noise else "band"


@dataclass(frozen=True, eq=False)
class BandpassBiquad(_Cookbook):
    """Two-pole band-pass filter, with constant peak gain or constant skirt gain."""

    response = "bandpass"
    sample_rate: Rate
    central_freq: Real
    Q: Quality = 0.707
    const_skirt_gain: bool = False

    def kind(self) -> str:
        return "skirt bandpass" if self.const_skirt_gain else "bandpass"


@dataclass(frozen=True, eq=False)
class BandrejectBiquad(_Cookbook):
    """Two-pole band-reject filter."""

    response = "bandreject"
    sample_rate: Rate
    central_freq: Real
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class BassBiquad(_Cookbook):
    """Bass tone control: a low-shelf filter."""

    response = "bass"
    sample_rate: Rate
    gain: Real
    central_freq: Real = 100.0
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class TrebleBiquad(_Cookbook):
    """Treble tone control: a high-shelf filter."""

    response = "treble"
    sample_rate: Rate
    gain: Real
    central_freq: Real = 3000
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class EqualizerBiquad(_Cookbook):
    """Biquad peaking equalizer."""

    response = "equalizer"
    frequency = "center_freq"
    sample_rate: Rate
    center_freq: Real
    gain: Real
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class HighpassBiquad(_Cookbook):
    """Biquad high-pass filter."""

    response = "highpass"
    frequency = "cutoff_freq"
    sample_rate: Rate
    cutoff_freq: Real
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class LowpassBiquad(_Cookbook):
    """Biquad low-pass filter."""

    response = "lowpass"
    frequency = "cutoff_freq"
    sample_rate: Rate
    cutoff_freq: Real
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class DeemphBiquad(_SecondOrder):
    """De-emphasis of compact discs."""

    sample_rate: Rate

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_rate(self.sample_rate, DEEMPHASIS)

    def coefficients(self) -> Coefficients:
        return deemphasis_coefficients(self.sample_rate)


@dataclass(frozen=True, eq=False)
class RiaaBiquad(_SecondOrder):
    """RIAA playback equalization of vinyl records."""

    sample_rate: Rate

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_rate(self.sample_rate, RIAA)

    def coefficients(self) -> Coefficients:
        return riaa_coefficients(self.sample_rate)


def _check_rate(sample_rate: int, table: dict[int, Any]) -> None:
    if sample_rate not in table:
        raise problem(
            ValueError,
            "sample_rate: unsupported",
            got=str(sample_rate),
            expected=f"one of {', '.join(map(str, table))}",
        )
