"""Base class and helpers of audio transforms: signals as float arrays, checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.audio.parameters import check_fields
from mycelia.dataset.transforms.transform import Transform


@dataclass(frozen=True, eq=False)
class AudioTransform(Transform):
    """Base class of audio transforms: float64 stays, all other types become float32."""

    layout: ClassVar[str] = "[..., time]"

    def __post_init__(self) -> None:
        check_fields(self)

    def checked(self, value: Any) -> np.ndarray:
        if isinstance(value, np.ndarray):
            return value
        raise problem(
            TypeError,
            f"{type(self).__name__}: requires an array",
            got=type(value).__name__,
            fix="np.array(...) for lists and numbers",
        )

    def run(self, values: tuple[Any, ...], random: np.random.Generator | None) -> Any:
        if len(values) == 1:
            return super().run(values, random)
        raise problem(
            RuntimeError,
            f"{type(self).__name__}: requires one column",
            got=f"{len(values)} columns",
        )

    def apply(self, value: Any, random: Any) -> Any:
        return self.change(self.as_floats(self.as_laid_out(np.asarray(value))), random)

    def change(self, signal: np.ndarray, random: Any) -> Any:
        """Transform the signal."""
        raise NotImplementedError

    def as_floats(self, signal: np.ndarray) -> np.ndarray:
        """Convert a signal to floats."""
        if signal.dtype.kind not in "biuf":
            raise self.refused(signal, "numbers")
        return signal if signal.dtype == np.float64 else signal.astype(np.float32, copy=False)

    def as_laid_out(self, signal: np.ndarray) -> np.ndarray:
        """Check that the signal has the axes of the layout."""
        axes = self.layout.strip("[]").split(", ")[1:]
        if signal.ndim < len(axes) or (axes[-1] == "2" and signal.shape[-1] != 2):
            raise self.refused(signal, f"an array of {self.layout}")
        return signal

    def refused(self, signal: np.ndarray, expected: str) -> RuntimeError:
        """The error for an unsupported signal."""
        return problem(
            RuntimeError,
            f"{type(self).__name__}: unsupported signal",
            got=f"{signal.dtype}{list(signal.shape)}",
            expected=expected,
        )


SPECTRUM = "[..., frequency, time]"
COMPLEX_SPECTRUM = "[..., frequency, time, 2]"
COMPLEX = "[..., 2]"


def clamped(signal: np.ndarray) -> np.ndarray:
    """Clip the signal to [-1, 1]."""
    return np.clip(signal, -1, 1)


def as_pairs(spectrum: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of real and imaginary parts along the last axis."""
    return np.stack([spectrum.real, spectrum.imag], axis=-1)


def as_complex(pairs: np.ndarray) -> np.ndarray:
    """Pairs of real and imaginary parts as complex numbers."""
    return pairs[..., 0] + 1j * pairs[..., 1]
