"""The discrete cosine transform (DCT) and its inverse, computed by FFTs of the same length."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.dtype import DType, at_least_float, bfloat16, float16, float32
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.argument_types import check_axes


class CosineTransform(Op):
    """Orthonormal discrete cosine transform (type II) along an axis, or its inverse (type III).

    Makhoul (1980), "A fast cosine transform in one and two dimensions".
    """

    inverse: bool = False
    n: int | None = None
    axis: int = -1
    examples = (
        case("f32[2,5]"),
        case("f32[4,3]", axis=0, inverse=True),
        case("f64[3]", n=5),
        case("i32[4]:<5", n=2),
        case("c64[4]", differentiate=False),
    )

    def infer(self, x: TensorType) -> TensorType:
        if not (x.dtype.is_integer or x.dtype.is_float or x.dtype.is_complex):
            raise unsupported_dtype(self.name, x, "a tensor of numbers")
        check_axes("dct", "input", x)
        axis = normalize_axis(self.axis, x.ndim, "dct")
        sizes = list(x.shape)
        sizes[axis] = self.n or sizes[axis]
        return TensorType(_result_dtype(x.dtype), tuple(sizes))

    def lower(self, x: Array) -> Array:
        x = jnp.asarray(x)
        if not jnp.issubdtype(x.dtype, jnp.inexact) or x.dtype.itemsize == 2:
            x = x.astype(jnp.float32)
        rows = jnp.moveaxis(x, self.axis, -1)
        if self.n is not None:
            rows = _resized(rows, self.n)
        if not rows.size:
            return jnp.moveaxis(rows, -1, self.axis)
        transform = _inverse if self.inverse else _forward
        if jnp.iscomplexobj(rows):
            found = transform(rows.real) + 1j * transform(rows.imag)
        else:
            found = transform(rows)
        return jnp.moveaxis(found.astype(rows.dtype), -1, self.axis)


def _result_dtype(dtype: DType) -> DType:
    return float32 if dtype in (float16, bfloat16) else at_least_float(dtype)


def _resized(rows: Array, size: int) -> Array:
    """Rows truncated or zero-padded to `size`."""
    missing = max(0, size - rows.shape[-1])
    return jnp.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, missing)])[..., :size]


def _forward(x: Array) -> Array:
    size = x.shape[-1]
    folded = jnp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], axis=-1)
    turned = jnp.fft.fft(folded) * _turns(size).conj().astype(_complex(x))
    return turned.real * _weights(size).astype(x.dtype)


def _inverse(x: Array) -> Array:
    size = x.shape[-1]
    plain = x / _weights(size).astype(x.dtype)
    back = jnp.concatenate([jnp.zeros_like(plain[..., :1]), plain[..., :0:-1]], axis=-1)
    turned = (plain - 1j * back) * _turns(size).astype(_complex(x))
    folded = jnp.fft.ifft(turned).real
    half = (size + 1) // 2
    odd = jnp.zeros(x.shape, x.dtype).at[..., 1::2].set(folded[..., half:][..., ::-1])
    return odd.at[..., ::2].set(folded[..., :half])


def _turns(size: int) -> Any:
    return np.exp(0.5j * np.pi * np.arange(size) / size)


def _weights(size: int) -> Any:
    """Factors that make the transform orthonormal."""
    weights = np.full(size, np.sqrt(2 / size))
    weights[0] = np.sqrt(1 / size)
    return weights


def _complex(x: Array) -> Any:
    return jnp.complex128 if x.dtype == jnp.float64 else jnp.complex64
