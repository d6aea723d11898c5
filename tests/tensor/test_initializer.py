"""Initial values: what each rule gives, by its own formula."""

import math

import numpy as np
import pytest

import mycelia as ms
from mycelia.tensor.initializer import (
    Constant,
    Dirac,
    HeNormal,
    HeUniform,
    Identity,
    Initializer,
    Normal,
    One,
    Orthogonal,
    Sparse,
    TruncatedNormal,
    Uniform,
    VarianceScaling,
    XavierNormal,
    XavierUniform,
    Zero,
    initializer,
)

SHAPE = (200, 300)  # fan out, fan in


def filled(rule, shape=SHAPE, dtype=ms.float32):
    ms.set_seed(5)
    tensor = initializer(rule, shape, dtype)
    assert tensor.shape == shape and tensor.dtype is dtype
    return tensor.asnumpy()


@pytest.mark.parametrize(
    ("rule", "value"),
    [(Zero(), 0), (One(), 1), (Constant(3), 3), ("zeros", 0), ("ones", 1), (0.5, 0.5)],
)
def test_constants(rule, value):
    assert (filled(rule) == value).all()


@pytest.mark.parametrize(
    ("rule", "deviation"),
    [
        (Normal(0.3), 0.3),
        ("normal", 0.01),
        (XavierNormal(gain=2), 2 * math.sqrt(2 / 500)),
        (HeNormal(), math.sqrt(2 / 300)),
        (HeNormal(mode="fan_out", nonlinearity="relu"), math.sqrt(2 / 200)),
        (HeNormal(negative_slope=1), math.sqrt(1 / 300)),
        (VarianceScaling(scale=3.0, distribution="untruncated_normal"), math.sqrt(3 / 300)),
        (VarianceScaling(mode="fan_avg"), math.sqrt(1 / 250)),
    ],
)
def test_normal_rules(rule, deviation):
    array = filled(rule)
    assert abs(array.mean()) < deviation * 0.02
    assert array.std() == pytest.approx(deviation, rel=0.02)


@pytest.mark.parametrize(
    ("rule", "bound"),
    [
        (Uniform(0.2), 0.2),
        ("uniform", 0.07),
        (XavierUniform(), math.sqrt(6 / 500)),
        ("xavier_uniform", math.sqrt(6 / 500)),
        (HeUniform(), math.sqrt(6 / 300)),
        ("he_uniform", math.sqrt(6 / 300)),
        (VarianceScaling(distribution="uniform"), math.sqrt(3 / 300)),
    ],
)
def test_uniform_rules(rule, bound):
    array = filled(rule)
    assert abs(array).max() <= bound
    assert abs(array).max() == pytest.approx(bound, rel=0.01)
    assert array.std() == pytest.approx(bound / math.sqrt(3), rel=0.02)


def test_mean_of_normal():
    assert filled(Normal(sigma=0.1, mean=2.0)).mean() == pytest.approx(2, rel=0.01)


def test_truncated_normal_stays_within():
    array = filled(TruncatedNormal(sigma=0.5, mean=1.0, a=-1.0, b=2.0))
    assert array.min() >= 0.5 - 1e-6 and array.max() <= 2.0 + 1e-6
    assert filled(TruncatedNormal(sigma=1.0)).std() == pytest.approx(0.88, rel=0.02)


def test_identity_and_orthogonal():
    assert (filled(Identity(), (3, 4)) == np.eye(3, 4)).all()
    array = filled(Orthogonal(gain=2.0), (4, 3, 2))
    rows = array.reshape(4, 6)
    np.testing.assert_allclose(rows @ rows.T, 4 * np.eye(4), atol=1e-5)


def test_dirac_keeps_channels():
    weight = initializer(Dirac(groups=2), (4, 2, 3, 3), ms.float32)
    x = np.random.default_rng(0).normal(size=(1, 4, 5, 5)).astype(np.float32)
    conv = ms.nn.Conv2d(4, 4, 3, group=2, weight_init=weight)
    np.testing.assert_allclose(conv(ms.Tensor(x)).asnumpy(), x, rtol=1e-6)


def test_sparse_columns():
    array = filled(Sparse(sparsity=0.25, sigma=0.1), (100, 40))
    assert ((array == 0).sum(axis=0) == 25).all()
    assert array[array != 0].std() == pytest.approx(0.1, rel=0.1)


def test_a_rule_of_ones_own():
    class Counting(Initializer):
        def _initialize(self, arr):
            arr[...] = np.arange(arr.size).reshape(arr.shape)

    assert filled(Counting(), (2, 2)).tolist() == [[0, 1], [2, 3]]


def test_seeds_repeat():
    assert (filled("normal") == filled("normal")).all()


def test_bad_requests():
    with pytest.raises(ValueError, match="'nonsense' was not found"):
        initializer("nonsense", (2, 2))
    with pytest.raises(ValueError, match="two dimensions"):
        initializer("xavier_uniform", (3,))
    with pytest.raises(ValueError, match="shape"):
        initializer("zeros", (0, 2))
    with pytest.raises(TypeError, match="init"):
        initializer([1], (1,))
