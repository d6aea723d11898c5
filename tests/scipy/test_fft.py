"""Cosine transforms as SciPy's orthonormal ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import fft as reference

import mycelia as ms
import mycelia.scipy.fft as fft
from mycelia import Tensor

X = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)


def _close(found: Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-5, strict=True)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("n", [None, 1, 6])
def test_along_an_axis(axis: int, n: int | None):
    options = {"n": n, "axis": axis}
    _close(fft.dct(Tensor(X), **options), reference.dct(X, norm="ortho", **options))
    _close(fft.idct(Tensor(X), **options), reference.idct(X, norm="ortho", **options))


def test_along_several_axes():
    _close(fft.dctn(Tensor(X)), reference.dctn(X, norm="ortho"))
    _close(fft.idctn(Tensor(X)), reference.idctn(X, norm="ortho"))
    _close(fft.dctn(Tensor(X), s=(3, 6)), reference.dctn(X, s=(3, 6), norm="ortho"))
    _close(fft.dctn(Tensor(X), s=3), reference.dctn(X, s=3, norm="ortho"))
    _close(fft.idctn(Tensor(X), axes=0, norm="ortho"), reference.idctn(X, axes=0, norm="ortho"))


def test_dtypes():
    assert fft.dct(Tensor([1, 2, 3])).dtype == ms.float32
    assert fft.dct(Tensor(X, ms.float16)).dtype == ms.float32
    assert fft.dct(Tensor(X, ms.float64)).dtype == ms.float64
    _close(fft.idct(Tensor(X + 1j * X[::-1])), reference.idct(X + 1j * X[::-1], norm="ortho"))


def test_gradient_and_graph_mode():
    weights = Tensor(X[::-1].copy())
    slope = ms.jit(ms.grad(lambda x: (fft.dctn(x) * weights).sum()))(Tensor(X))
    _close(slope, reference.idctn(X[::-1], norm="ortho"))


BAD = [
    (lambda: fft.dct(Tensor(X), type=3), ValueError, "type II"),
    (lambda: fft.dct(Tensor(X), norm="forward"), ValueError, "ortho"),
    (lambda: fft.idct(Tensor(X), n=0), ValueError, "must be positive"),
    (lambda: fft.dct(Tensor(X), axis=3), ValueError, "axis"),
    (lambda: fft.dctn(Tensor(X), s=(2, 2), axes=(0,)), ValueError, "number of sizes"),
    (lambda: fft.dct(X), TypeError, "Tensor"),
    (lambda: fft.dct(Tensor([True])), TypeError, "numbers"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_errors(wrong, kind, message):
    with pytest.raises(kind, match=message):
        wrong()
