"""Voice activity detection and pitch detection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.audio.options import WindowType
from mycelia.dataset.audio.parameters import Count, NotNegative, Positive, Rate, Real
from mycelia.dataset.audio.waveform import AudioTransform
from mycelia.dataset.audio.windows import window

_LEAST = 1e-9
_PREFERRED = 0.99
_OFFSET = 21


@dataclass(frozen=True, eq=False)
class Vad(AudioTransform):
    """Trims the signal before a voice begins (SoX's vad, based on the power of the cepstrum)."""

    sample_rate: Count
    trigger_level: Real = 7.0
    trigger_time: NotNegative = 0.25
    search_time: NotNegative = 1.0
    allowed_gap: NotNegative = 0.25
    pre_trigger_time: NotNegative = 0.0
    boot_time: NotNegative = 0.35
    noise_up_time: NotNegative = 0.1
    noise_down_time: NotNegative = 0.01
    noise_reduction_amount: NotNegative = 1.35
    measure_freq: Positive = 20.0
    measure_duration: NotNegative | None = None
    measure_smooth_time: NotNegative = 0.4
    hp_filter_freq: Positive = 50.0
    lp_filter_freq: Positive = 6000.0
    hp_lifter_freq: Positive = 150.0
    lp_lifter_freq: Positive = 2000.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise_up_time < self.noise_down_time:
            raise problem(
                ValueError,
                "noise_up_time: must not be shorter than noise_down_time",
                got=f"noise_up_time={self.noise_up_time}, noise_down_time={self.noise_down_time}",
            )

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        meter = _VoiceDetector(self)
        if meter.lifter.stop <= meter.lifter.start:
            raise self.refused(signal, "an lp_lifter_freq well above hp_lifter_freq")
        flat = signal.reshape(-1, signal.shape[-1])
        return np.ascontiguousarray(signal[..., self._start(meter, flat) :])

    def _start(self, meter: _VoiceDetector, channels: np.ndarray) -> int:
        """The first sample to keep; without a voice, only the end of the search range is kept."""
        period = int(self.sample_rate / self.measure_freq + 0.5)
        count = math.ceil(self.search_time * self.measure_freq)
        kept = int(self.pre_trigger_time * self.sample_rate + 0.5)
        history = np.zeros((len(channels), max(count, 1)))
        means = np.zeros(len(channels))
        slow = self.decay(self.trigger_time)
        index = meter.size
        while index < channels.shape[-1]:
            levels = meter.measure(channels[:, index - meter.size : index].astype(np.float64))
            means = means * slow + levels * (1 - slow)
            history = np.concatenate([levels[:, None], history[:, :-1]], axis=1)
            heard = np.flatnonzero(means >= self.trigger_level)
            if heard.size:
                flushed = max(self._flushed(row) for row in history[heard[0] :])
                return max(index - kept - flushed * period - meter.size, 0)
            index += period
        return channels.shape[-1] - kept - count * period - meter.size

    def _flushed(self, levels: np.ndarray) -> int:
        """How many measurements before the trigger belong to the voice; the newest comes first."""
        gap = int(self.allowed_gap * self.measure_freq + 0.5)
        count = len(levels)
        trigger = silence = count
        for index, level in enumerate(levels):
            if level >= self.trigger_level and index <= trigger + gap:
                silence = trigger = index
            elif level == 0 and trigger >= silence:
                silence = index
        return min(count - 1, silence)

    def decay(self, seconds: float) -> float:
        """The decay factor of an exponentially smoothed measurement."""
        return math.exp(-1 / (seconds * self.measure_freq)) if seconds else 0.0


class _VoiceDetector:
    """The smoothed spectra of voice and noise in each channel."""

    def __init__(self, vad: Vad) -> None:
        rate = vad.sample_rate
        duration = 2 / vad.measure_freq if vad.measure_duration is None else vad.measure_duration
        self._vad = vad
        self.size = int(rate * duration + 0.5)
        self._frame = max(16, 2 ** math.ceil(math.log2(max(self.size, 1))))
        low = max(int(vad.hp_filter_freq / rate * self._frame + 0.5), 1)
        high = min(int(vad.lp_filter_freq / rate * self._frame + 0.5), self._frame // 2)
        self._band = slice(low, high)
        first = math.ceil(rate * 0.5 / vad.lp_lifter_freq)
        last = min(math.floor(rate * 0.5 / vad.hp_lifter_freq), self._frame // 4)
        self.lifter = slice(first, last)
        self._window = _hann(self.size)
        self._lifter_window = _hann(high - low)
        self._up, self._down = vad.decay(vad.noise_up_time), vad.decay(vad.noise_down_time)
        self._boots = 0
        self._voice: Any = 0.0
        self._noise: Any = 0.0

    def measure(self, samples: np.ndarray) -> np.ndarray:
        """The voice level in the samples of each channel."""
        booting = self._boots >= 0
        slow = self._vad.decay(self._vad.measure_smooth_time)
        keep = self._boots / (1 + self._boots) if booting else slow
        sizes = np.abs(np.fft.rfft(samples * self._window, self._frame))[:, self._band]
        self._voice = self._voice * keep + sizes * (1 - keep)
        power = self._voice**2
        keeps = 0.0 if booting else np.where(power > self._noise, self._up, self._down)
        self._noise = self._noise * keeps + power * (1 - keeps)
        if booting:
            last = int(self._vad.boot_time * self._vad.measure_freq - 0.5)
            self._boots = -1 if self._boots == last else self._boots + 1
        return self._level(power - self._vad.noise_reduction_amount * self._noise)

    def _level(self, power: np.ndarray) -> np.ndarray:
        half = np.zeros((len(power), self._frame // 2))
        half[:, self._band] = np.sqrt(np.maximum(power, 0)) * self._lifter_window
        cepstrum = np.abs(np.fft.rfft(half)[:, self.lifter]) ** 2
        with np.errstate(divide="ignore"):
            return np.maximum(0, _OFFSET + np.log(cepstrum.mean(axis=1)))


def _hann(size: int) -> np.ndarray:
    return window(WindowType.HANN, size, size) * (2 / math.sqrt(size))


@dataclass(frozen=True, eq=False)
class DetectPitchFrequency(AudioTransform):
    """Detects the pitch of each frame from the lag with the highest autocorrelation."""

    sample_rate: Rate
    frame_time: Positive = 0.01
    win_length: Count = 30
    freq_low: Positive = 85
    freq_high: Positive = 3400

    def as_floats(self, signal: np.ndarray) -> np.ndarray:
        if signal.dtype.kind != "f":
            raise self.refused(signal, "float16, float32 or float64")
        return signal.astype(np.float32, copy=False)

    def change(self, signal: np.ndarray, random: Any) -> np.ndarray:
        least, most = (math.ceil(self.sample_rate / f) for f in (self.freq_high, self.freq_low))
        if not 0 <= least < most // 2:
            raise self.refused(signal, "a freq_high of more than twice freq_low")
        lags = _best_lags(self._autocorrelation(signal, most), least)
        reach = (self.win_length - 1) // 2
        widths = [(0, 0)] * (lags.ndim - 1) + [(reach, 0)]
        whole = np.pad(lags, widths, mode="edge")
        if whole.shape[-1] < self.win_length:
            raise self.refused(signal, f"enough frames for win_length={self.win_length}")
        views = np.lib.stride_tricks.sliding_window_view(whole, self.win_length, axis=-1)
        medians = np.sort(views, axis=-1)[..., (self.win_length - 1) // 2]
        return (self.sample_rate / (_LEAST + medians)).astype(np.float32)

    def _autocorrelation(self, signal: np.ndarray, lags: int) -> np.ndarray:
        """The normalized autocorrelation of each frame, of [..., frame, lag]."""
        size = math.ceil(self.sample_rate * self.frame_time)
        frames = math.ceil(signal.shape[-1] / size)
        missing = lags + frames * size - signal.shape[-1]
        whole = np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, missing)])
        views = np.lib.stride_tricks.sliding_window_view(whole.astype(np.float64), size, axis=-1)
        ends = np.sqrt(np.sum(views**2, axis=-1))
        starts = np.arange(frames) * size
        indices = starts[:, None] + np.arange(1, lags + 1)
        products = np.stack(
            [np.sum(views[..., starts, :] * views[..., starts + lag, :], -1) for lag in indices[0]],
            axis=-1,
        )
        here = (_LEAST + ends[..., starts]) ** 2
        return products / here[..., None] / (_LEAST + ends[..., indices]) ** 2


def _best_lags(likeness: np.ndarray, least: int) -> np.ndarray:
    """The lag with the highest correlation; a good one in the shorter half is preferred."""
    half = likeness.shape[-1] // 2
    shorter, all_lags = likeness[..., least:half], likeness[..., least:]
    is_short = shorter.max(axis=-1) > _PREFERRED * all_lags.max(axis=-1)
    return np.where(is_short, shorter.argmax(axis=-1), all_lags.argmax(axis=-1)) + least + 1
