"""The transforms that are recursive filters: of any order, and the family of second order."""

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
    """Changes signals of floats, which keep their type."""

    def as_floats(self, signal: np.ndarray) -> np.ndarray:
        if signal.dtype.kind != "f":
            raise self.refused(signal, "float16, float32 or float64")
        return signal

    def filtered(self, signal: np.ndarray, b: Any, a: Any) -> np.ndarray:
        """The signal through the filter with these coefficients, in doubles."""
        return scipy_signal(type(self).__name__).lfilter(b, a, signal.astype(np.float64))


@dataclass(frozen=True, eq=False)
class LFilter(_AudioFilter):
    """A filter with coefficients for its output (`a_coeffs`) and its input (`b_coeffs`)."""

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
                f"{type(self).__name__}: a_coeffs and b_coeffs have different lengths",
                got=f"{len(self.a_coeffs)} and {len(self.b_coeffs)}",
            )
        if not self.a_coeffs or self.a_coeffs[0] == 0:
            raise problem(
                RuntimeError,
                f"{type(self).__name__}: a_coeffs has no first coefficient to divide by",
                got=repr(self.a_coeffs),
                expected="a list that begins with a number other than 0",
            )

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        made = self.filtered(signal, self.b_coeffs, self.a_coeffs)
        return (clamped(made) if self.clamp else made).astype(signal.dtype)


@dataclass(frozen=True, eq=False)
class Filtfilt(LFilter):
    """The same filter forwards and backwards, which leaves phases as they are."""

    def filtered(self, signal: np.ndarray, b: Any, a: Any) -> np.ndarray:
        forwards = super().filtered(signal, b, a)
        return super().filtered(forwards[..., ::-1], b, a)[..., ::-1]


def _check_coefficients(argument: str, value: Any) -> None:
    if not isinstance(value, (list, tuple)):
        raise wrong_type(argument, value, "list or tuple of numbers")
    for place, entry in enumerate(value):
        check_value(f"{argument}[{place}]", entry, Real)


@dataclass(frozen=True, eq=False)
class _SecondOrder(_AudioFilter):
    """A filter with three coefficients for its input and three for its output."""

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        return clamped(self.filtered(signal, *self.coefficients())).astype(signal.dtype)

    def coefficients(self) -> Coefficients:
        """Those for the input, those for the output."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Biquad(_SecondOrder):
    """A filter of second order with given coefficients."""

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
    """A filter whose coefficients follow from a frequency, a quality and a gain."""

    response: ClassVar[str]
    frequency: ClassVar[str] = "central_freq"

    def coefficients(self) -> Coefficients:
        given = self.parameters()
        angle = 2 * np.pi * given[self.frequency] / given["sample_rate"]
        return RESPONSES[self.kind()](Tone(angle, given["Q"], given.get("gain", 0.0)))

    def kind(self) -> str:
        """The row of the table of responses."""
        return self.response


@dataclass(frozen=True, eq=False)
class AllpassBiquad(_Cookbook):
    """Phases turned around a frequency."""

    response = "allpass"
    sample_rate: Rate
    central_freq: Real
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class BandBiquad(_Cookbook):
    """A band kept, falling off on both sides like a resonance."""

    response = "band"
    sample_rate: Rate
    central_freq: Real
    Q: Quality = 0.707
    noise: bool = False

    def kind(self) -> str:
        return "noise band" if self.noise else "band"


@dataclass(frozen=True, eq=False)
class BandpassBiquad(_Cookbook):
    """A band kept, with a constant gain at its peak or at its skirt."""

    response = "bandpass"
    sample_rate: Rate
    central_freq: Real
    Q: Quality = 0.707
    const_skirt_gain: bool = False

    def kind(self) -> str:
        return "skirt bandpass" if self.const_skirt_gain else "bandpass"


@dataclass(frozen=True, eq=False)
class BandrejectBiquad(_Cookbook):
    """A band removed."""

    response = "bandreject"
    sample_rate: Rate
    central_freq: Real
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class BassBiquad(_Cookbook):
    """The frequencies below one made louder or softer."""

    response = "bass"
    sample_rate: Rate
    gain: Real
    central_freq: Real = 100.0
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class TrebleBiquad(_Cookbook):
    """The frequencies above one made louder or softer."""

    response = "treble"
    sample_rate: Rate
    gain: Real
    central_freq: Real = 3000
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class EqualizerBiquad(_Cookbook):
    """A band made louder or softer."""

    response = "equalizer"
    frequency = "center_freq"
    sample_rate: Rate
    center_freq: Real
    gain: Real
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class HighpassBiquad(_Cookbook):
    """The frequencies below one removed."""

    response = "highpass"
    frequency = "cutoff_freq"
    sample_rate: Rate
    cutoff_freq: Real
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class LowpassBiquad(_Cookbook):
    """The frequencies above one removed."""

    response = "lowpass"
    frequency = "cutoff_freq"
    sample_rate: Rate
    cutoff_freq: Real
    Q: Quality = 0.707


@dataclass(frozen=True, eq=False)
class DeemphBiquad(_SecondOrder):
    """The emphasis of compact discs undone."""

    sample_rate: Rate

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_rate(self.sample_rate, DEEMPHASIS)

    def coefficients(self) -> Coefficients:
        return deemphasis_coefficients(self.sample_rate)


@dataclass(frozen=True, eq=False)
class RiaaBiquad(_SecondOrder):
    """The curve of vinyl records."""

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
            "sample_rate: no filter is known for it",
            got=str(sample_rate),
            expected=f"one of {', '.join(map(str, table))}",
        )
