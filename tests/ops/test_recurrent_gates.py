"""The tanh of recurrent layers is tanh: close to it everywhere, with its slopes."""

from __future__ import annotations

import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mycelia._engine.kernels.recurrent_gates import activated, shared, slopes_of, tanh_of, zero_of

POINTS = np.concatenate([np.linspace(-12, 12, 200_001), np.logspace(-37, 2, 4_001)])


def test_tanh_is_within_five_units_of_the_last_place():
    x = POINTS.astype(np.float32)
    wanted = np.tanh(x.astype(np.float64))
    found = np.asarray(jax.jit(tanh_of)(x))
    units = np.abs(found - wanted) / np.spacing(np.abs(wanted).astype(np.float32))
    assert units.max() < 5
    assert np.abs(found).max() <= 1
    np.testing.assert_array_equal(np.asarray(tanh_of(-x)), -np.asarray(tanh_of(x)))


def test_tanh_of_what_is_not_finite():
    x = np.tile(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], np.float32), 2_000)
    found = np.asarray(tanh_of(x))[:5]
    np.testing.assert_allclose(found, [1, -1, np.nan, 0, 0], atol=1e-7)
    assert np.signbit(found[-1])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_tanh_keeps_the_type(dtype: type):
    assert tanh_of(np.ones(10_000, dtype)).dtype == dtype


def test_slopes_are_those_of_tanh():
    x = np.linspace(-10, 10, 10_001).astype(np.float32)
    exact = 1 - np.tanh(x.astype(np.float64)) ** 2

    def slope(x: Any) -> Any:
        return jax.jvp(tanh_of, (x,), (jnp.ones_like(x),))[1]

    np.testing.assert_allclose(slope(x), exact, atol=1e-6)
    second = jax.jvp(slope, (x,), (jnp.ones_like(x),))[1]
    np.testing.assert_allclose(second, -2 * np.tanh(x) * exact, atol=2e-6)
    backwards = jax.grad(lambda x: tanh_of(x).sum())(x)
    np.testing.assert_allclose(backwards, exact, atol=1e-6)


def test_gates_are_sigmoids_and_tanhs():
    x = np.random.default_rng(0).normal(size=(2, 8_192)).astype(np.float32) * 3
    wanted = [1 / (1 + np.exp(-x[0])), np.tanh(x[1])]
    found = activated(x, ("s", "t"))
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    slopes = [wanted[0] * (1 - wanted[0]), 1 - wanted[1] ** 2]
    np.testing.assert_allclose(slopes_of(found, ("s", "t")), slopes, atol=1e-6)


def test_shared_numbers_stay_what_they_are():
    x = np.random.default_rng(0).normal(size=(4, 8_192)).astype(np.float32)
    found = jax.jit(lambda x: shared(x, zero_of(x)))(x)
    np.testing.assert_array_equal(found, x)
    assert float(zero_of(x)) == 0
    slopes = jax.grad(lambda x: shared(x, zero_of(x)).sum())(x)
    np.testing.assert_array_equal(slopes, np.ones_like(x))


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core only")
def test_shared_numbers_are_worked_on_by_all_cores():
    x = np.ones((4, 8_192), np.float32)
    with_all, with_one = (
        jax.jit(fn).lower(x).compile().as_text()
        for fn in (lambda x: shared(x * x, zero_of(x)), lambda x: x * x)
    )
    assert "outer_dimension_partitions" in with_all
    assert "outer_dimension_partitions" not in with_one
