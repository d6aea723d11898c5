"""Samples: shapes, dtypes, the right distribution, seeds, and gradients through them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import mycelia as ms
import mycelia.nn.probability.bijector as msb
import mycelia.nn.probability.distribution as msd
from mycelia import Tensor

CONTINUOUS = {
    "Normal": (msd.Normal([0.5], [2.0]), stats.norm(0.5, 2)),
    "LogNormal": (msd.LogNormal([0.5], [0.7]), stats.lognorm(0.7, scale=np.exp(0.5))),
    "Cauchy": (msd.Cauchy([0.5], [2.0]), stats.cauchy(0.5, 2)),
    "Logistic": (msd.Logistic([0.5], [2.0]), stats.logistic(0.5, 2)),
    "Gumbel": (msd.Gumbel([0.5], [2.0]), stats.gumbel_r(0.5, 2)),
    "Exponential": (msd.Exponential([2.0]), stats.expon(scale=0.5)),
    "Uniform": (msd.Uniform([0.5], [2.0]), stats.uniform(0.5, 1.5)),
    "Gamma": (msd.Gamma([0.7], [2.0]), stats.gamma(0.7, scale=0.5)),
    "Beta": (msd.Beta([0.7], [2.0]), stats.beta(0.7, 2)),
    "HalfNormal": (msd.HalfNormal([0.5], [2.0]), stats.halfnorm(0.5, 2)),
    "Laplace": (msd.Laplace([0.5], [2.0]), stats.laplace(0.5, 2)),
    "StudentT": (msd.StudentT([3.0], [0.5], [2.0]), stats.t(3, 0.5, 2)),
    "Transformed": (
        msd.TransformedDistribution(msb.ScalarAffine(-2.0, 1.0), msd.Normal([0.5], [1.0])),
        stats.norm(0, 2),
    ),
}
COUNTS = {
    "Poisson": (msd.Poisson([2.5]), stats.poisson(2.5)),
    "Bernoulli": (msd.Bernoulli([0.3]), stats.bernoulli(0.3)),
    "Geometric": (msd.Geometric([0.3]), stats.geom(0.3, loc=-1)),
    "Categorical": (
        msd.Categorical([0.2, 0.3, 0.5]),
        stats.rv_discrete(values=([0, 1, 2], [0.2, 0.3, 0.5])),
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow if n in ("StudentT", "Beta") else ())
        for n in CONTINUOUS
    ],
)
def test_samples_follow_the_distribution(name: str):
    ms.set_seed(3)
    ours, theirs = CONTINUOUS[name]
    drawn = ours.sample((2000,)).asnumpy()
    assert drawn.shape == (2000, 1)
    assert drawn.dtype == np.float32
    assert stats.kstest(drawn[:, 0], theirs.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", COUNTS)
def test_counts_follow_the_distribution(name: str):
    ms.set_seed(3)
    ours, theirs = COUNTS[name]
    drawn = ours.sample((2000,)).asnumpy().astype(np.int64).ravel()
    for count in range(3):
        expected = theirs.pmf(count)
        assert abs((drawn == count).mean() - expected) < 4 * np.sqrt(expected / 2000) + 1e-9


def test_shapes_and_dtypes():
    assert msd.Normal(0.0, 1.0).sample().shape == ()
    assert msd.Normal([0.0, 1.0], 1.0).sample((2, 3)).shape == (2, 3, 2)
    assert msd.Normal().sample((4,), Tensor([0.0]), Tensor([[1.0], [2.0]])).shape == (4, 2, 1)
    assert msd.Bernoulli(0.3).sample((2,)).dtype == ms.int32
    assert msd.Geometric(0.3, dtype=ms.float32).sample((2,)).dtype == ms.float32
    assert msd.Normal(0.0, 1.0, dtype=ms.float16).sample((2,)).dtype == ms.float16
    classes = msd.Categorical([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])
    assert classes.sample((4,)).shape == (4, 3)
    affine = msb.ScalarAffine([1.0, 2.0, 3.0], [0.0])
    drawn = msd.TransformedDistribution(affine, msd.Normal(0.0, 1.0)).sample((5,))
    assert drawn.shape == (5, 3)
    assert len(np.unique((drawn.asnumpy() / [1.0, 2.0, 3.0]).round(5))) == 15


def test_a_seed_repeats_the_stream():
    def drawn(own: int) -> list[float]:
        ms.set_seed(11)
        return msd.Normal(0.0, 1.0, seed=own).sample((3,)).asnumpy().tolist()

    assert drawn(4) == drawn(4)
    assert drawn(4) != drawn(5)


def test_in_graph_mode(graph_mode: None):
    class Drawing(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.normal = msd.Normal([0.5], [0.25])

        def construct(self, shift):
            return self.normal.sample((2000,)) + shift

    draw = Drawing()
    first, second = draw(Tensor(0.0)).asnumpy(), draw(Tensor(0.0)).asnumpy()
    assert abs(first.mean() - 0.5) < 0.05
    assert (first != second).any()


@pytest.mark.parametrize(
    ("made", "parameters", "slopes"),
    [
        (msd.Normal(), (1.0, 2.0), (1.0, 0.0)),
        pytest.param(msd.Gamma(), (2.0, 4.0), (0.25, -0.125), marks=pytest.mark.slow),
        pytest.param(msd.Beta(), (2.0, 3.0), (0.12, -0.08), marks=pytest.mark.slow),
        (msd.Exponential(), (2.0,), (-0.25,)),
        (msd.Logistic(), (1.0, 2.0), (1.0, 0.0)),
    ],
)
def test_gradients_pass_through_samples(made, parameters, slopes):
    """The mean of the gradients is the gradient of the mean."""
    ms.set_seed(5)

    def mean(*given):
        return made.sample((10000,), *given).mean()

    given = tuple(Tensor([v]) for v in parameters)
    found = ms.grad(mean, tuple(range(len(given))))(*given)
    found = found if isinstance(found, tuple) else (found,)
    np.testing.assert_allclose([float(g[0]) for g in found], slopes, atol=0.05)
