"""Audio effects: phaser, flanger, overdrive, dither."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia.dataset.audio.delays import swing, tapped, with_echo, with_echoes
from mycelia.dataset.audio.levels import amplitude
from mycelia.dataset.audio.options import DensityFunction, Interpolation, Modulation
from mycelia.dataset.audio.parameters import (
    Decay,
    DelayMilliseconds,
    FlangerDelay,
    FlangerDepth,
    FlangerSpeed,
    Integer,
    Percent,
    PhaserGain,
    PhaserSpeed,
    Rate,
    Regeneration,
    Share,
)
from mycelia.dataset.audio.scipy import scipy_signal
from mycelia.dataset.audio.waveform import AudioTransform, clamped

_MOST_CHANNELS = 4
_BITS = 16
_GAUSSIAN_TERMS = 7


@dataclass(frozen=True, eq=False)
class Overdrive(AudioTransform):
    """Applies the distortion of an overdriven amplifier (SoX's overdrive)."""

    gain: Percent = 20.0
    color: Percent = 20.0

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        driven = np.clip(signal * amplitude(self.gain) + self.color / 200, -1, 1)
        bent = (driven - driven**3 / 3).astype(np.float64)
        without_bias = scipy_signal("Overdrive").lfilter([1, -1], [1, -0.995], bent)
        return clamped(signal * 0.5 + without_bias * 0.75).astype(signal.dtype)


@dataclass(frozen=True, eq=False)
class Phaser(AudioTransform):
    """Adds an echo with a modulated delay (SoX's phaser)."""

    sample_rate: Integer
    gain_in: Share = 0.4
    gain_out: PhaserGain = 0.74
    delay_ms: DelayMilliseconds = 3.0
    decay: Decay = 0.4
    mod_speed: PhaserSpeed = 0.5
    sinusoidal: bool = True

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        longest = int(self.delay_ms * 0.001 * self.sample_rate + 0.5)
        period = int(self.sample_rate / self.mod_speed + 0.5)
        if longest < 1:
            raise self.refused(signal, "a delay_ms of one sample or more")
        kind = Modulation.SINUSOIDAL if self.sinusoidal else Modulation.TRIANGULAR
        indices = (swing(kind, period, 1.0, longest, 0.25) + 0.5).astype(np.int64)
        delays = np.resize(longest + 1 - indices, signal.shape[-1])
        made = with_echo(signal * self.gain_in, delays, self.decay)
        return clamped(made * self.gain_out).astype(signal.dtype)


@dataclass(frozen=True, eq=False)
class Flanger(AudioTransform):
    """Adds a copy with a short modulated delay, per channel (SoX's flanger)."""

    layout = "[..., channel, time]"
    sample_rate: Rate
    delay: FlangerDelay = 0.0
    depth: FlangerDepth = 2.0
    regen: Regeneration = 0.0
    width: Percent = 71.0
    speed: FlangerSpeed = 0.5
    phase: Percent = 25.0
    modulation: Modulation = Modulation.SINUSOIDAL
    interpolation: Interpolation = Interpolation.LINEAR

    def as_floats(self, signal: np.ndarray) -> np.ndarray:
        if signal.dtype.kind not in "iuf" or signal.shape[-2] > _MOST_CHANNELS:
            raise self.refused(signal, f"numbers in at most {_MOST_CHANNELS} channels")
        return signal

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        channels, length = signal.shape[-2:]
        period = int(self.sample_rate / self.speed)
        if period < 1:
            raise self.refused(signal, "a sample_rate above speed")
        low = np.floor(self.delay / 1000 * self.sample_rate + 0.5)
        high = int((self.delay + self.depth) / 1000 * self.sample_rate + 0.5)
        table = swing(self.modulation, period, low, high, 0.75)
        apart = (np.arange(channels) * period * self.phase / 100 + 0.5).astype(np.int64)
        turns = (np.arange(length) + apart[:, None]) % period
        made = np.stack(
            [self._flanged(signal[..., c, :], table[turns[c]]) for c in range(channels)], -2
        )
        return clamped(made).astype(signal.dtype)

    def _flanged(self, channel: np.ndarray, moving: np.ndarray) -> np.ndarray:
        feedback, share = self.regen / 100, self.width / 100
        whole = np.floor(moving).astype(np.int64)
        weights = _TAPS[self.interpolation](moving - whole)
        delays = whole + np.arange(len(weights))[:, None]
        line = channel.astype(np.float64)
        if feedback:
            before = delays[:, :-1] + 1, feedback * weights[:, :-1]
            first = [(0, 0), (1, 0)]
            line = with_echoes(
                line, np.pad(before[0], first, constant_values=1), np.pad(before[1], first)
            )
        delayed = tapped(line, delays, weights)
        return channel / (1 + share) + delayed * share / (1 + share) * (1 - abs(feedback))


_TAPS = {
    Interpolation.LINEAR: lambda t: np.stack([1 - t, t]),
    Interpolation.QUADRATIC: lambda t: np.stack(
        [(t - 1) * (t - 2) / 2, t * (2 - t), t * (t - 1) / 2]
    ),
}


@dataclass(frozen=True, eq=False)
class Dither(AudioTransform):
    """Adds noise before rounding to 16 bits, which masks the quantization error."""

    density_function: DensityFunction = DensityFunction.TPDF
    noise_shaping: bool = False

    @property
    def is_random(self) -> bool:
        return self.density_function is not DensityFunction.TPDF

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        scaled = signal * (2 ** (_BITS - 1) - 2) + self._noise(signal, random)
        rounded = np.trunc(scaled + np.copysign(0.5, scaled))
        made = (rounded / 2 ** (_BITS - 1)).astype(signal.dtype)
        if self.noise_shaping:
            error = made - signal
            made[..., 1:] += error[..., :-1]
        return made

    def _noise(self, signal: np.ndarray, random: Any) -> Any:
        """Triangular noise over the signal, one of its samples, or the sum of several."""
        match self.density_function:
            case DensityFunction.TPDF:
                return np.bartlett(signal.shape[-1] + 1)[:-1]
            case DensityFunction.RPDF:
                return random.choice(signal.ravel()) - 0.5
            case DensityFunction.GPDF:
                return random.choice(signal.ravel(), _GAUSSIAN_TERMS).sum()
