"""Fourier transforms (FFT) over one, two, or more axes, and the short-time transform (STFT)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_int, check_positive_int, check_string
from mycelia._engine.core.dtype import as_dtype, float32
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, as_shape, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.shapes.creation import ones
from mycelia.ops.shapes.flip import roll
from mycelia.ops.shapes.pad import pad
from mycelia.ops.shapes.reshape import cast, reshape
from mycelia.ops.shapes.shape_queries import tuple_to_array

_OTHER_WAY = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
_KINDS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")


class FourierTransform(Op):
    """Fourier transform of `kind` over the axes `dim`, truncated or zero-padded to sizes `s`.

    The r kinds map real signals to half of their spectrum and back; the h kinds are for signals
    whose spectrum is real.
    """

    kind: str = "fft"
    s: Shape | None = None
    dim: Shape | None = None
    norm: str | None = None
    examples = (
        case("c64[4]"),
        case("f32[2,5]", kind="fft", s=(3,), dim=(1,)),
        case("c64[2,4]", kind="ifft", norm="ortho"),
        case("f32[3,4]", kind="rfft"),
        case("c64[3,4]", kind="irfft", differentiate=False),
        case("c64[3,3]", kind="hfft", s=(4,), dim=(1,), differentiate=False),
        case("f32[4,3]", kind="ihfft", norm="forward"),
        case("i32[4]"),
    )

    def normalize(self) -> dict[str, Any]:
        check_string(type(self).__name__, "kind", self.kind, _KINDS)
        if self.norm is not None:
            check_string(self.kind, "norm", self.norm, tuple(_OTHER_WAY))
        return {"norm": self.norm or "backward"}

    def lower(self, input: Array) -> Array:
        x, axes = self._input(input), self._axes(input.ndim)
        sizes = self.s
        match self.kind:
            case "fft":
                return jnp.fft.fftn(x, sizes, axes, self.norm)
            case "ifft":
                return jnp.fft.ifftn(x, sizes, axes, self.norm)
            case "rfft":
                return jnp.fft.rfftn(x, sizes, axes, self.norm)
            case "irfft":
                return jnp.fft.irfftn(x, sizes, axes, self.norm)
            case "hfft":
                return jnp.fft.irfftn(jnp.conj(x), sizes, axes, _OTHER_WAY[self.norm or ""])
        return jnp.conj(jnp.fft.rfftn(x, sizes, axes, _OTHER_WAY[self.norm or ""]))

    def _input(self, input: Array) -> Array:
        x = jnp.asarray(input)
        if self.kind in ("rfft", "ihfft") and jnp.iscomplexobj(x):
            raise problem(
                TypeError,
                f"{self.kind}: the input must be real",
                got=f"{x.dtype}",
                fix="use fft for complex numbers",
            )
        wide = x.dtype in (jnp.float64, jnp.complex128)
        if jnp.iscomplexobj(x) or wide:
            return x
        return x.astype(jnp.float32)

    def _axes(self, rank: int) -> Shape:
        if self.dim is not None:
            return tuple(normalize_axis(a, rank, self.kind) for a in self.dim)
        return tuple(range(rank))[-len(self.s) :] if self.s else tuple(range(rank))


class FFTWithSize(Op):
    """Fourier transform over the last `signal_ndim` axes, of complex or real signals."""

    signal_ndim: int
    inverse: bool
    real: bool
    norm: str = "backward"
    onesided: bool = True
    signal_sizes: Shape = ()
    examples = (
        case("c64[2,4]", signal_ndim=1, inverse=False, real=False),
        case("f32[3,4]", signal_ndim=2, inverse=False, real=True),
        case("f32[4]", signal_ndim=1, inverse=False, real=True, onesided=False),
        case("c64[3]", signal_ndim=1, inverse=True, real=True, differentiate=False),
        case("c64[4]", signal_ndim=1, inverse=True, real=False, norm="ortho"),
    )

    def normalize(self) -> dict[str, Any]:
        for name in ("inverse", "real", "onesided"):
            check_bool("FFTWithSize", name, getattr(self, name))
        if not 1 <= check_int("FFTWithSize", "signal_ndim", self.signal_ndim) <= 3:
            raise problem(
                ValueError, "FFTWithSize: signal_ndim must be 1, 2 or 3", got=str(self.signal_ndim)
            )
        return {"signal_sizes": as_shape(self.signal_sizes, "FFTWithSize")}

    def lower(self, x: Array) -> Array:
        axes = tuple(range(x.ndim - self.signal_ndim, x.ndim))
        half = self.real and self.onesided
        sizes = (self.signal_sizes or None) if half and self.inverse else None
        if half:
            kind = "irfft" if self.inverse else "rfft"
        else:
            kind = "ifft" if self.inverse else "fft"
        found = FourierTransform.of(kind, sizes, axes, self.norm).lower(x)
        return jnp.real(found) if self.real and self.inverse and not half else found


class STFT(Op):
    """Short-time Fourier transform: spectra of frames of `n_fft` samples, `hop_length` apart."""

    n_fft: int
    hop_length: int
    win_length: int
    normalized: bool
    onesided: bool
    return_complex: bool
    examples = (
        case(
            "f32[2,12]", "f32[4]", n_fft=4, hop_length=2, win_length=4,
            normalized=False, onesided=True, return_complex=True,
        ),
        case(
            "f32[9]", "f32[3]", n_fft=4, hop_length=3, win_length=3,
            normalized=True, onesided=False, return_complex=False,
        ),
    )  # fmt: skip

    def lower(self, signal: Array, window: Array) -> Array:
        count = 1 + (signal.shape[-1] - self.n_fft) // self.hop_length
        if count < 1:
            raise problem(
                ValueError,
                "stft: the signal is shorter than one frame",
                got=f"{signal.shape[-1]} samples, n_fft={self.n_fft}",
            )
        before = (self.n_fft - self.win_length) // 2
        after = self.n_fft - self.win_length - before
        places = np.arange(count)[:, None] * self.hop_length + np.arange(self.n_fft)
        frames = jnp.asarray(signal)[..., places] * jnp.pad(window, (before, after))
        onesided = self.onesided and not jnp.iscomplexobj(frames)
        spectrum = (jnp.fft.rfft if onesided else jnp.fft.fft)(frames)
        spectrum = jnp.swapaxes(spectrum, -1, -2)
        if self.normalized:
            spectrum = spectrum / np.sqrt(self.n_fft).astype(spectrum.real.dtype)
        if self.return_complex:
            return spectrum
        return jnp.stack([spectrum.real, spectrum.imag], axis=-1)


def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Discrete Fourier transform along `dim`."""
    return _along("fft", input, n, dim, norm)


def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Inverse discrete Fourier transform along `dim`."""
    return _along("ifft", input, n, dim, norm)


def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Discrete Fourier transform of a real signal: the non-redundant half of the spectrum."""
    return _along("rfft", input, n, dim, norm)


def irfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Inverse of `rfft`: a real signal of length `n`."""
    return _along("irfft", input, n, dim, norm)


def hfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Fourier transform of a Hermitian-symmetric signal (half of it is given); it is real."""
    return _along("hfft", input, n, dim, norm)


def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    """Inverse of `hfft`: half of the Hermitian-symmetric signal."""
    return _along("ihfft", input, n, dim, norm)


def fft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
    """Two-dimensional discrete Fourier transform."""
    return _over("fft", input, s, dim, norm)


def ifft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
    """Inverse of `fft2`."""
    return _over("ifft", input, s, dim, norm)


def rfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
    """Two-dimensional transform of a real signal: `rfft` over the last axis, `fft` the other."""
    return _over("rfft", input, s, dim, norm)


def irfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
    """Inverse of `rfft2`."""
    return _over("irfft", input, s, dim, norm)


def hfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
    """Two-dimensional Hermitian transform: `hfft` over the last axis, `fft` over the other."""
    return _over("hfft", input, s, dim, norm)


def ihfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
    """Inverse of `hfft2`."""
    return _over("ihfft", input, s, dim, norm)


def fftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """Discrete Fourier transform over the axes `dim`, by default all."""
    return _over("fft", input, s, dim, norm)


def ifftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """Inverse of `fftn`."""
    return _over("ifft", input, s, dim, norm)


def rfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """N-dimensional transform of a real signal: `rfft` over the last axis, `fft` the rest."""
    return _over("rfft", input, s, dim, norm)


def irfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """Inverse of `rfftn`."""
    return _over("irfft", input, s, dim, norm)


def hfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """N-dimensional Hermitian transform: `hfft` over the last axis, `fft` over the rest."""
    return _over("hfft", input, s, dim, norm)


def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:
    """Inverse of `hfftn`."""
    return _over("ihfft", input, s, dim, norm)


def fftshift(input: Any, dim: Any = None) -> Any:
    """Shifts the zero frequency to the center of the axes `dim`."""
    return _shifted("fftshift", input, dim, lambda n: n // 2)


def ifftshift(input: Any, dim: Any = None) -> Any:
    """Inverse of `fftshift`."""
    return _shifted("ifftshift", input, dim, lambda n: -(n // 2))


def fftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Any:
    """Sample frequencies of `fft` for `n` samples with spacing `d`."""
    check_positive_int("fftfreq", "n", n)
    return cast(tuple_to_array(freeze(np.fft.fftfreq(n, d))), as_dtype(dtype or float32))


def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Any:
    """Sample frequencies of `rfft` for `n` samples with spacing `d`."""
    check_positive_int("rfftfreq", "n", n)
    return cast(tuple_to_array(freeze(np.fft.rfftfreq(n, d))), as_dtype(dtype or float32))


def stft(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "REFLECT",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Any:
    """Short-time Fourier transform of signals (batch, time) or (time,)."""
    check_positive_int("stft", "n_fft", n_fft)
    step = n_fft // 4 if hop_length is None else hop_length
    hop = check_positive_int("stft", "hop_length", step)
    length = n_fft if win_length is None else check_positive_int("stft", "win_length", win_length)
    complex_input = x.dtype.is_complex
    half = (not complex_input) if onesided is None else check_bool("stft", "onesided", onesided)
    as_complex = complex_input if return_complex is None else return_complex
    if window is None:
        window = ones((length,), x.dtype)
    if center:
        x = _centred(x, n_fft // 2, pad_mode.lower())
    return STFT.of(n_fft, hop, length, normalized, half, as_complex)(x, window)


def _centred(x: Any, reach: int, mode: str) -> Any:
    """Signals padded by `reach` at both ends."""
    rows = reshape(x, (-1, 1, x.shape[-1]))
    grown = pad(rows, (reach, reach), "constant" if mode == "constant" else mode)
    return reshape(grown, (*x.shape[:-1], grown.shape[-1]))


def _along(kind: str, input: Any, n: int | None, dim: int, norm: str | None) -> Any:
    sizes = None if n is None else (check_positive_int(kind, "n", n),)
    return FourierTransform.of(kind, sizes, (check_int(kind, "dim", dim),), norm)(input)


def _over(kind: str, input: Any, s: Any, dim: Any, norm: str | None) -> Any:
    sizes = None if s is None else as_shape(s, kind)
    axes = None if dim is None else as_shape(dim, kind)
    return FourierTransform.of(kind, sizes, axes, norm)(input)


def _shifted(owner: str, input: Any, dim: Any, by: Any) -> Any:
    if not isinstance(input, TensorProtocol):
        raise problem(TypeError, f"{owner}: the input must be a Tensor", got=repr(input))
    rank = len(input.shape)
    if rank == 0:
        return input
    listed = tuple(range(rank)) if dim is None else as_shape(dim, owner)
    axes = tuple(normalize_axis(a, rank, owner) for a in listed)
    return roll(input, tuple(by(input.shape[a]) for a in axes), axes)
