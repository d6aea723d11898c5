"""Delay lines with feedback, and the low-frequency oscillators that modulate them."""

from __future__ import annotations

import numpy as np

from mycelia.dataset.audio.options import Modulation

_INAUDIBLE = 1e-18


def swing(kind: Modulation, size: int, low: float, high: float, phase: float) -> np.ndarray:
    """One period of a wave between two values, starting at the fraction `phase` of the period."""
    points = (np.arange(size) + int(phase * size + 0.5)) % size
    if kind is Modulation.SINUSOIDAL:
        shape = (np.sin(points / size * 2 * np.pi) + 1) / 2
    else:
        rising = points * 2 / size
        quarter = 4 * points // size
        shape = np.select(
            [quarter == 0, quarter == 3], [rising + 0.5, rising - 1.5], default=1.5 - rising
        )
    return shape * (high - low) + low


def with_echo(signal: np.ndarray, delays: np.ndarray, decay: float) -> np.ndarray:
    """made[t] = signal[t] + decay * made[t - delays[t]].

    Each round doubles the length of the echo chains that are summed.
    """
    made = np.pad(signal.astype(np.float64), [(0, 0)] * (signal.ndim - 1) + [(1, 0)])
    sources = np.maximum(np.arange(1, made.shape[-1]) - delays, 0)
    sources = np.concatenate([[0], sources])  # index 0 is the silence before the signal
    while decay > _INAUDIBLE and sources.any():
        made += decay * made[..., sources]
        sources = sources[sources]
        decay *= decay
    return made[..., 1:]


def with_echoes(signal: np.ndarray, delays: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """made[t] = signal[t] + the sum over k of weights[k, t] * made[t - delays[k, t]].

    `signal` is of [..., time]. All delays are 1 or more, so samples within the shortest delay do
    not depend on each other and are computed in one step.
    """
    length = signal.shape[-1]
    silence = int(delays.max(initial=1))
    made = np.zeros((*signal.shape[:-1], silence + length))
    sources = np.arange(silence, silence + length) - delays
    latest = np.maximum.accumulate(sources.max(axis=0))
    start = 0
    while start < length:
        end = max(int(np.searchsorted(latest, silence + start)), start + 1)
        part = slice(start, end)
        heard = made[..., sources[:, part]] * weights[:, part]
        made[..., silence + start : silence + end] = signal[..., part] + heard.sum(axis=-2)
        start = end
    return made[..., silence:]


def tapped(signal: np.ndarray, delays: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The sum over k of weights[k, t] * signal[t - delays[k, t]], with silence before."""
    sources = np.arange(signal.shape[-1]) - delays
    heard = np.where(sources >= 0, signal[..., np.maximum(sources, 0)], 0)
    return (heard * weights).sum(axis=-2)
