"""Operators that the real MindSpore refuses on CPU, and that work here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import signal, special

import mycelia as ms
from mycelia import Tensor, ops

HALVES = [(ms.float16, 2e-3), (ms.bfloat16, 2e-2)]
RANDOM = np.random.RandomState(3)


def _array(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def _half(x: np.ndarray, dtype: Any) -> tuple[Tensor, np.ndarray]:
    """A half tensor, and its very numbers as float32."""
    tensor = Tensor(x).astype(dtype)
    return tensor, np.asarray(tensor.astype(ms.float32))


def _close(found: Tensor, wanted: np.ndarray, dtype: Any, tolerance: float) -> None:
    assert found.dtype is dtype
    np.testing.assert_allclose(
        np.asarray(found.astype(ms.float32)), wanted, rtol=tolerance, atol=4 * tolerance
    )


@pytest.mark.parametrize(("dtype", "tolerance"), HALVES, ids=str)
@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_products_of_half_matrices(dtype: Any, tolerance: float, mode: str):
    (a, plain_a), (b, plain_b) = _half(_array(4, 5), dtype), _half(_array(5, 3), dtype)
    multiply = ops.matmul if mode == "eager" else ms.jit(lambda x, y: ops.matmul(x, y))
    _close(multiply(a, b), plain_a @ plain_b, dtype, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), HALVES, ids=str)
def test_gradients_of_products_of_half_matrices(dtype: Any, tolerance: float):
    (a, plain_a), (b, plain_b) = _half(_array(4, 5), dtype), _half(_array(5, 3), dtype)
    da, db = ms.grad(lambda x, y: ops.matmul(x, y).sum(), (0, 1))(a, b)
    ones = np.ones((4, 3), np.float32)
    _close(da, ones @ plain_b.T, dtype, tolerance)
    _close(db, plain_a.T @ ones, dtype, tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), HALVES, ids=str)
def test_convolution_of_half_images_with_gradients(dtype: Any, tolerance: float):
    (x, plain_x), (w, plain_w) = _half(_array(1, 1, 5, 5), dtype), _half(_array(1, 1, 3, 3), dtype)
    wanted = signal.correlate2d(plain_x[0, 0], plain_w[0, 0], "valid")[None, None]
    _close(ops.conv2d(x, w), wanted, dtype, tolerance)
    dx, dw = ms.grad(lambda a, b: ops.conv2d(a, b).sum(), (0, 1))(x, w)
    ones = np.ones((3, 3), np.float32)
    _close(dx, signal.convolve2d(ones, plain_w[0, 0])[None, None], dtype, tolerance)
    _close(dw, signal.correlate2d(plain_x[0, 0], ones, "valid")[None, None], dtype, tolerance)


def test_instance_norm():
    x, gamma, beta = _array(2, 3, 4, 4), _array(3), _array(3)
    mean, variance = ms.Parameter(Tensor(_array(3))), ms.Parameter(Tensor(np.ones(3, np.float32)))
    found = ops.InstanceNorm()(Tensor(x), Tensor(gamma), Tensor(beta), mean, variance)[0]
    centred = x - x.mean((2, 3), keepdims=True)
    plain = centred / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
    wanted = plain * gamma[:, None, None] + beta[:, None, None]
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-5)


def test_rms_norm_and_its_gradient():
    x, gamma = _array(2, 5), _array(5)
    found, inverse = ops.rms_norm(Tensor(x), Tensor(gamma))
    root = 1 / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(np.asarray(found), x * root * gamma, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(inverse), root, rtol=1e-5)
    slope = ms.grad(lambda g: ops.rms_norm(Tensor(x), g)[0].sum())(Tensor(gamma))
    np.testing.assert_allclose(np.asarray(slope), (x * root).sum(0), rtol=1e-5)


def test_moments_of_the_gamma_distribution():
    ms.set_seed(5)
    shapes = np.array([0.7, 3.0], np.float32)
    drawn = np.asarray(ops.random_gamma(Tensor([20000], ms.int32), Tensor(shapes)))
    assert drawn.min() >= 0
    np.testing.assert_allclose(drawn.mean(0), shapes, rtol=0.05)
    np.testing.assert_allclose(drawn.var(0), shapes, rtol=0.1)


def test_moments_of_the_poisson_distribution():
    ms.set_seed(5)
    rates = np.array([0.5, 6.0], np.float32)
    drawn = np.asarray(ops.random_poisson(Tensor([20000], ms.int32), Tensor(rates)))
    assert np.all(drawn == np.round(drawn))
    np.testing.assert_allclose(drawn.mean(0), rates, rtol=0.05)
    np.testing.assert_allclose(drawn.var(0), rates, rtol=0.1)


def test_quantiles():
    x = np.array([[4.0, 1.0, 3.0], [2.0, np.nan, 9.0]], np.float32)
    shares = np.array([0.1, 0.6], np.float32)
    found = ops.nanquantile(Tensor(x), Tensor(shares), 1)
    np.testing.assert_allclose(np.asarray(found), np.nanquantile(x, shares, 1), rtol=1e-6)
    found = ops.quantile(Tensor(x[0]), 0.3, 0, True)
    np.testing.assert_allclose(np.asarray(found), np.quantile(x[0], 0.3, keepdims=True), rtol=1e-6)
    found = ops.Quantile(ignore_nan=True)(Tensor(x), Tensor(np.float32(0.5)))
    np.testing.assert_allclose(np.asarray(found), np.nanmedian(x), rtol=1e-6)


def test_the_matrix_exponential():
    x = np.diag([0.0, 1.0, -2.0]).astype(np.float32)
    found = ops.matrix_exp(Tensor(x))
    np.testing.assert_allclose(np.asarray(found), np.diag(np.exp([0.0, 1.0, -2.0])), atol=1e-6)


def test_products_with_householder_reflections():
    x, tau, other = _array(3, 2), _array(2), _array(3, 4)
    q = np.eye(3)
    for column in range(2):
        v = np.concatenate([np.zeros(column), [1.0], x[column + 1 :, column]])
        q = q @ (np.eye(3) - tau[column] * np.outer(v, v))
    found = ops.ormqr(Tensor(x), Tensor(tau), Tensor(other))
    np.testing.assert_allclose(np.asarray(found), q @ other, rtol=2e-4, atol=1e-4)
    found = ops.Ormqr(transpose=True)(Tensor(x), Tensor(tau), Tensor(other))
    np.testing.assert_allclose(np.asarray(found), q.T @ other, rtol=2e-4, atol=1e-4)


def test_confusion_and_fixed_histograms():
    labels, guesses = Tensor([0, 1, 1, 2], ms.int32), Tensor([0, 1, 2, 2], ms.int32)
    found = ops.ConfusionMatrix(3)(labels, guesses)
    assert np.asarray(found).tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    values = Tensor([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0])
    found = ops.HistogramFixedWidth(5)(values, Tensor([0.0, 5.0]))
    assert np.asarray(found).tolist() == [2, 1, 1, 0, 2]


def test_accidental_hits():
    true = Tensor(np.array([[1, 2], [0, 4], [3, 3]]))
    rows, draws, weights = ops.ComputeAccidentalHits(2)(true, Tensor(np.array([0, 1, 2, 3, 4])))
    assert np.asarray(rows).tolist() == [0, 0, 1, 1, 2, 2]
    assert np.asarray(draws).tolist() == [1, 2, 0, 4, 3, 3]
    assert np.all(np.asarray(weights) == -np.finfo(np.float32).max)


@pytest.mark.parametrize("function", [ops.exp, ops.softmax], ids=["ops.exp", "ops.softmax"])
def test_whole_numbers_get_an_error_that_says_what_to_do(function: Any):
    with pytest.raises(TypeError, match=r"(?s)unsupported dtype Int32.*cast it first"):
        function(Tensor([0, 1, 2], ms.int32))
    cast = function(Tensor([0, 1, 2], ms.int32).astype(ms.float32))
    assert np.all(np.isfinite(np.asarray(cast)))


def test_incomplete_beta_in_double_precision():
    a, b, x = np.array([0.5, 3.0]), np.array([2.0, 0.7]), np.array([0.2, 0.9])
    found = ops.Betainc()(Tensor(a), Tensor(b), Tensor(x))
    np.testing.assert_allclose(np.asarray(found), special.betainc(a, b, x), rtol=1e-10)
