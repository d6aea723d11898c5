"""Short-time Fourier transform and its inverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.audio.options import BorderType, WindowType
from mycelia.dataset.audio.windows import window


@dataclass(frozen=True)
class FrameOptions:
    """How a signal is framed: frame size, window, hop length, and padding."""

    n_fft: int
    win_length: int
    hop_length: int
    kind: WindowType
    center: bool = True
    pad_mode: BorderType = BorderType.REFLECT
    onesided: bool = True

    @property
    def window(self) -> np.ndarray:
        """The window, padded to the frame size."""
        return window(self.kind, self.win_length, self.n_fft)

    def spectra(self, owner: str, signal: np.ndarray) -> np.ndarray:
        """The spectrum of each frame, complex, of [..., frequency, time]."""
        if self.center:
            signal = padded(signal, self.n_fft // 2, self.pad_mode)
        if signal.shape[-1] < self.n_fft:
            raise problem(
                RuntimeError,
                f"{owner}: the signal is shorter than a frame",
                got=f"{signal.shape[-1]} samples",
                expected=f"n_fft={self.n_fft} or more",
            )
        views = np.lib.stride_tricks.sliding_window_view(signal, self.n_fft, axis=-1)
        frames = views[..., :: self.hop_length, :] * self.window.astype(signal.dtype)
        made = np.fft.rfft(frames)
        if not self.onesided:  # negative frequencies mirror the others, as in MindSpore
            made = np.concatenate([made, made[..., (self.n_fft - 1) // 2 : 0 : -1]], axis=-1)
        return np.swapaxes(made, -1, -2)

    def signal(self, spectra: np.ndarray, length: int | None) -> np.ndarray:
        """The signal of these (one-sided) spectra, by overlap-add."""
        frames = np.fft.irfft(np.swapaxes(spectra, -1, -2), self.n_fft)
        whole = self._added(frames * self.window)
        weight = self._added(np.broadcast_to(self.window**2, frames.shape[-2:]))
        start = self.n_fft // 2 if self.center else 0
        inner = whole.shape[-1] - 2 * (self.n_fft // 2)
        end = start + (inner if length is None else length)
        whole, weight = whole[..., start:end], weight[start:end]
        made = np.divide(whole, weight, out=np.zeros_like(whole), where=weight > _LEAST)
        return fitted(made, end - start)

    def _added(self, frames: np.ndarray) -> np.ndarray:
        """Overlap-add of frames."""
        count, hop = frames.shape[-2], self.hop_length
        parts = -(-self.n_fft // hop)
        wide = np.pad(frames, [(0, 0)] * (frames.ndim - 1) + [(0, parts * hop - self.n_fft)])
        made = np.zeros((*frames.shape[:-2], count + parts - 1, hop), frames.dtype)
        for part in range(parts):
            made[..., part : part + count, :] += wide[..., part * hop : (part + 1) * hop]
        flat = made.reshape(*frames.shape[:-2], -1)
        return flat[..., : self.n_fft + hop * (count - 1)]


_LEAST = 1e-11


def frames_of(owner: Any, kind: WindowType, **options: Any) -> FrameOptions:
    """The frame options of a transform that has n_fft, win_length, and hop_length."""
    size = owner.win_length or owner.n_fft
    return FrameOptions(owner.n_fft, size, owner.hop_length or max(size // 2, 1), kind, **options)


def padded(signal: np.ndarray, size: int, mode: BorderType) -> np.ndarray:
    """Pad the signal at both ends."""
    widths = [(0, 0)] * (signal.ndim - 1) + [(size, size)]
    return np.pad(signal, widths, mode=mode.value)


def fitted(signal: np.ndarray, length: int) -> np.ndarray:
    """Truncate the signal, or pad it with zeros, to a length."""
    missing = length - signal.shape[-1]
    if missing <= 0:
        return signal[..., :length]
    return np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, missing)])
