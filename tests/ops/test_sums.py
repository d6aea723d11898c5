"""Sums of many numbers take other forms than XLA's own; the results are the same."""

import re

import jax
import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops
from mycelia._engine.kernels.channel_sums import channel_moments
from mycelia._engine.kernels.sums import last_sum, row_sum, row_sums, summed
from mycelia._engine.runtime.xla.compile import options

SHAPES = [(1 << 14,), (40000, 3), (100, 100, 7), (8192 * 2 + 5,), (3, 50000), (64, 16, 20, 20)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("keep_dims", [False, True])
def test_sums_and_means(shape, dtype, keep_dims):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    tolerance = {"rtol": 1e-5, "atol": 1e-2 if dtype is np.float32 else 1e-8}
    wholes = [(), 0, -1, tuple(range(len(shape) - 1)), tuple(range(len(shape)))[::2]]
    for axis in wholes:
        axes = tuple(range(x.ndim)) if axis == () else axis
        found = ops.ReduceSum(keep_dims)(Tensor(x), axis).asnumpy()
        wanted = x.sum(axes, keepdims=keep_dims)
        assert found.shape == wanted.shape and found.dtype == dtype
        np.testing.assert_allclose(found, wanted, **tolerance)
        found = ops.ReduceMean(keep_dims)(Tensor(x), axis).asnumpy()
        np.testing.assert_allclose(found, x.mean(axes, keepdims=keep_dims), rtol=1e-5, atol=1e-5)


def test_the_plain_form_gives_the_same():
    x = Tensor(np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32))
    special = (x * x).mean().asnumpy()
    ms.set_context(kernel_selection=False)
    plain = (x * x).mean().asnumpy()
    np.testing.assert_allclose(special, plain, rtol=1e-5)


def test_infinities_stay():
    x = np.ones(1 << 15, np.float32)
    x[7] = np.inf
    assert ops.sum(Tensor(x)).asnumpy() == np.inf
    x[9] = -np.inf
    assert np.isnan(ops.sum(Tensor(x)).asnumpy())


def numbers(*shape):
    return np.random.default_rng(0).normal(0.5, 1, shape).clip(0).astype(np.float32)


@pytest.mark.parametrize("rows, channels", [(8 * 112 * 112, 16), (25088, 64), (4096, 7), (997, 3)])
def test_sums_of_rows_are_exact(rows, channels):
    x = numbers(rows, channels)
    wanted = x.sum(axis=0, dtype=np.float64)
    np.testing.assert_allclose(jax.jit(row_sum)(x), wanted, rtol=8e-7)


def test_sums_along_the_last_axis_and_of_everything_are_exact():
    x = numbers(96, 8192)
    rows = x.sum(axis=-1, keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(jax.jit(last_sum)(x), rows, rtol=8e-7)
    np.testing.assert_allclose(jax.jit(summed)(x), x.sum(dtype=np.float64), rtol=8e-7)


@pytest.mark.parametrize("shape", [(96, 96), (256, 256), (1024, 1024)])
def test_no_loop_adds_up_everything_number_by_number(shape):
    """XLA joins sums of sums into one long loop, which takes 3 times as long at 256 x 256."""
    squares = jax.jit(lambda x: summed(x * x), compiler_options=options())
    text = squares.lower(numbers(*shape)).compile().as_text()
    wholes = [line for line in text.splitlines() if " f32[] reduce(" in line]
    assert len(wholes) == 1
    assert re.search(r"dimensions=\{0\}", wholes[0]), "one axis is left for the last sum"


def test_sums_of_several_arrays_are_made_in_one_loop():
    x = numbers(4096, 24)

    def both(x):
        return row_sums((x, x * x))

    for found, wanted in zip(both(x), (x.sum(0), (x * x).sum(0)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    text = jax.jit(both, compiler_options=options()).lower(x).compile().as_text()
    assert "= (f32[512,24]{1,0}, f32[512,24]{1,0}) fusion(" in text


def test_sums_of_several_arrays_have_gradients_of_any_order():
    x = numbers(1024, 5)

    def f(x):
        first, second = row_sums((x, x * x * x))
        return (first * second).sum()

    def plain(x):
        return (x.sum(0) * (x * x * x).sum(0)).sum()

    np.testing.assert_allclose(jax.grad(f)(x), jax.grad(plain)(x), rtol=1e-4)
    along = jax.grad(lambda x: (jax.grad(f)(x) * x).sum())(x)
    np.testing.assert_allclose(
        along, jax.grad(lambda x: (jax.grad(plain)(x) * x).sum())(x), rtol=1e-4
    )


@pytest.mark.parametrize("far", [0.0, 3.0, 1000.0])
def test_means_and_variances_are_exact_far_from_zero(far):
    x = np.random.default_rng(0).normal(far, 1, (4, 32, 32, 6)).astype(np.float32)
    mean, variance = jax.jit(channel_moments, static_argnums=1)(x, 3)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean((0, 1, 2)), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(variance, exact.var((0, 1, 2)), rtol=1e-5)


def test_equal_numbers_have_no_variance():
    x = np.broadcast_to(np.array([0.1, -7.3, 1e6], np.float32), (4, 16, 16, 3))
    mean, variance = channel_moments(x, 3)
    assert np.array_equal(mean, x[0, 0, 0]) and not np.any(variance)


def test_a_few_numbers_far_away_do_not_spoil_the_variance():
    x = np.random.default_rng(0).normal(size=(2048, 4)).astype(np.float32)
    x[85] = 1e4  # among the rows that are taken for typical
    variance = channel_moments(x, 1)[1]
    np.testing.assert_allclose(variance, x.astype(np.float64).var(0), rtol=3e-5)
