"""The largest and smallest take other forms than XLA's own; the results are the same."""

import re

import jax
import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops
from mycelia._engine.kernels.max_min import largest, smallest
from mycelia._engine.runtime.xla.compile import options
from mycelia.ops.activation.softmax import log_total

LENGTHS = [1, 63, 64, 104, 1000, 8192]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8])
def test_along_rows(dtype):
    for length in LENGTHS:
        x = np.random.default_rng(length).normal(size=(3, 5, length)) * 20 + 100
        x = x.astype(dtype)
        np.testing.assert_array_equal(
            ops.ReduceMax(True)(Tensor(x), -1).asnumpy(), x.max(-1)[..., None]
        )
        np.testing.assert_array_equal(ops.ReduceMin()(Tensor(x), -1).asnumpy(), x.min(-1))


def test_other_axes_scalars_and_no_rows():
    x = np.random.default_rng(0).normal(size=(64, 128)).astype(np.float32)
    for axes in ((0,), (0, 1), (1,)):
        np.testing.assert_array_equal(largest(x, axes), x.max(axes))
        np.testing.assert_array_equal(smallest(x, axes, True), x.min(axes, keepdims=True))
    assert largest(np.float32(3), ()) == 3
    assert largest(np.zeros((0, 128), np.float32), (1,)).shape == (0,)


@pytest.mark.parametrize("shape", [(1 << 14,), (97, 101), (256, 256), (8, 33, 50), (8192 * 2 + 5,)])
def test_of_everything(shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    axes = tuple(range(x.ndim))
    assert largest(x, axes) == x.max() and smallest(x, axes) == x.min()
    assert largest(x, axes, True).shape == (1,) * x.ndim
    batch = np.stack([x, -x])
    found = jax.vmap(lambda one: largest(one, axes))(batch)
    np.testing.assert_array_equal(found, [x.max(), (-x).max()])
    x.flat[-1] = np.nan
    assert np.isnan(Tensor(x).max().asnumpy()) and np.isnan(Tensor(x).min().asnumpy())


def test_no_loop_compares_everything_number_by_number():
    choose = jax.jit(lambda x: largest(x * x, (0, 1)), compiler_options=options())
    text = choose.lower(np.ones((512, 512), np.float32)).compile().as_text()
    sizes = re.findall(r"f32\[([\d,]+)\]\S* fusion\(", text)
    assert "256" in sizes, "the best of each column comes before the best of all"


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8])
@pytest.mark.parametrize("shape", [(1,), (5,), (3, 70), (4, 3, 200), (2, 9000), (90, 200)])
def test_places(shape, dtype):
    """There are few numbers, so that many are equal: the first one counts."""
    x = np.random.default_rng(0).integers(0, 9, shape).astype(dtype)
    for axis in range(-x.ndim, x.ndim):
        for op, wanted in ((ops.Argmax, x.argmax(axis)), (ops.Argmin, x.argmin(axis))):
            np.testing.assert_array_equal(op(axis)(Tensor(x)).asnumpy(), wanted)
        place, value = ops.ArgMaxWithValue(axis)(Tensor(x))
        np.testing.assert_array_equal(place.asnumpy(), x.argmax(axis))
        np.testing.assert_array_equal(value.asnumpy(), x.max(axis))


def test_the_place_of_what_is_not_a_number():
    x = np.zeros((4, 5000), np.float32)
    x[0, [40, 70]], x[1, 3], x[2] = np.nan, np.inf, -np.inf
    np.testing.assert_array_equal(ops.Argmax()(Tensor(x)).asnumpy(), x.argmax(1))
    np.testing.assert_array_equal(ops.Argmin()(Tensor(x)).asnumpy(), x.argmin(1))


def test_what_is_not_a_number_and_infinities_stay():
    x = np.zeros((3, 256), np.float32)
    x[0, 200], x[1, 3], x[2] = np.nan, np.inf, -np.inf
    np.testing.assert_array_equal(largest(x, (1,)), [np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(smallest(x, (1,)), [np.nan, 0, -np.inf])


@pytest.mark.parametrize("length", [10, 128, 1000])
def test_log_total_of_any_row(length):
    x = np.random.default_rng(0).normal(size=(4, length)).astype(np.float32) * 80
    x[1] += 1e4
    x[2] = -np.inf
    x[3, 5] = np.inf
    wanted = jax.nn.logsumexp(x, axis=1)
    np.testing.assert_allclose(log_total(x, 1)[:, 0], wanted, rtol=1e-6)
    np.testing.assert_allclose(ops.logsumexp(Tensor(x), 1).asnumpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_and_its_gradient_as_in_the_plain_form(name):
    rng = np.random.default_rng(0)
    x, by = (Tensor(rng.normal(size=(6, 7, 128)).astype(np.float32) * 5) for _ in "xy")

    def run(axis):
        op = getattr(ops, name)
        return op(x, axis).asnumpy(), ms.grad(lambda v: (op(v, axis) * by).sum())(x).asnumpy()

    for axis in (-1, 0):
        special = run(axis)
        ms.set_context(kernel_selection=False)
        plain = run(axis)
        ms.set_context(kernel_selection=True)
        for found, wanted in zip(special, plain, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)
