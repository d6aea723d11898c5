"""Sums of many numbers take other forms than XLA's own; the results are the same."""

import re

import jax
import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops
from mycelia.ops.sums import last_sum, row_sum, summed
from mycelia.runtime.xla.compile import options

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
