"""Distributions as objects: parameters given or not, properties, users' own, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
import mycelia.nn.probability.bijector as msb
import mycelia.nn.probability.distribution as msd
from mycelia import Parameter, Tensor


def test_properties():
    made = msd.Normal([3.0, 4.0], [4.0, 5.0], seed=7)
    assert made.batch_shape == made.broadcast_shape == (2,)
    assert not made.is_scalar_batch
    assert (made.dtype, made.name, made.seed) == (ms.float32, "Normal", 7)
    assert made.parameters["param_dict"] == {"mean": [3.0, 4.0], "sd": [4.0, 5.0]}
    assert made.get_dist_type() == "Normal"
    mean, sd = made.get_dist_args()
    assert (mean.asnumpy().tolist(), sd.asnumpy().tolist()) == ([3.0, 4.0], [4.0, 5.0])
    assert repr(made) == "Normal(batch_shape = (2,))"
    assert repr(msd.Normal(0.0, 0.1)) == "Normal(mean = 0.0, standard deviation = 0.1)"
    assert repr(msd.Cauchy()) == "Cauchy(location = None, scale = None)"


def test_without_parameters():
    bare = msd.Normal()
    assert bare.batch_shape is None
    assert bare.is_scalar_batch
    assert bare.get_dist_args() == (None, None)
    given = {"mean": Tensor([0.0]), "sd": Tensor([1.0, 2.0])}
    named = bare.log_prob(Tensor([1.0, 2.0]), **given)
    placed = msd.Normal(0.0, [1.0, 2.0]).log_prob(Tensor([1.0, 2.0]))
    np.testing.assert_allclose(named.asnumpy(), placed.asnumpy())
    assert bare.mean(*given.values()).asnumpy().tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match="mean is not specified"):
        bare.mean()
    with pytest.raises(TypeError, match="sd is not specified"):
        bare.log_prob(Tensor([1.0]), Tensor([0.0]))


def test_given_parameters_count_before_own_ones():
    made = msd.Exponential(2.0)
    assert made.mean(Tensor(4.0)).asnumpy() == 0.25
    own = made.cross_entropy("Exponential", Tensor(1.0), Tensor(4.0))
    expected = msd.Exponential(4.0).cross_entropy("Exponential", Tensor(1.0))
    np.testing.assert_allclose(own.asnumpy(), expected.asnumpy(), rtol=1e-6)


def test_called_with_the_name_of_a_method():
    made = msd.Normal(0.0, 1.0)
    assert made("log_prob", Tensor(1.0)).asnumpy() == made.log_prob(Tensor(1.0)).asnumpy()
    ms.set_context(mode=ms.GRAPH_MODE)
    np.testing.assert_allclose(made("cdf", Tensor(0.0)).asnumpy(), 0.5)


def test_dtypes():
    half = msd.Normal(0.0, 1.0, dtype=ms.float16)
    assert half.log_prob(Tensor([1.0])).dtype == ms.float16
    assert msd.Normal(0.0, 1.0).log_prob(Tensor([1, 2])).dtype == ms.float32
    assert msd.Bernoulli(0.3, dtype=ms.float64).mean().dtype == ms.float64
    assert msd.Bernoulli(Tensor(0.3, ms.float16)).mean().dtype == ms.float16
    assert msd.Normal(Tensor([1.0], ms.float64), 1.0).mean().dtype == ms.float32


def test_gradients_of_values_and_parameters():
    made = msd.Normal()

    def loss(value, mean, sd):
        return made.log_prob(value, mean, sd).sum()

    found = ms.grad(loss, (0, 1, 2))(Tensor([1.5]), Tensor([0.5]), Tensor([2.0]))
    np.testing.assert_allclose([float(g[0]) for g in found], [-0.25, 0.25, -0.375], rtol=1e-6)
    compiled = ms.jit(ms.grad(loss, (0, 1, 2)))(Tensor([1.5]), Tensor([0.5]), Tensor([2.0]))
    np.testing.assert_allclose([float(g[0]) for g in compiled], [-0.25, 0.25, -0.375], rtol=1e-6)


def test_parameters_are_trained():
    made = msd.Normal(Parameter(Tensor([1.0]), name="centre"), 2.0)
    (weight,) = made.trainable_params()
    assert weight.name == "centre"
    (slope,) = ms.grad(lambda v: made.log_prob(v).sum(), None, made.trainable_params())(
        Tensor([2.0])
    )
    np.testing.assert_allclose(slope.asnumpy(), [0.25])


def test_gradients_stay_finite_at_the_edges():
    for made, value in (
        (msd.LogNormal(0.0, 1.0), -1.0),
        (msd.Poisson([2.0]), 0.0),
        (msd.Exponential(1.0), -2.0),
        (msd.Gamma([1.0], [1.0]), 0.5),
    ):
        slope = ms.grad(lambda v, d=made: d.cdf(v).sum())(Tensor([value]))
        assert np.isfinite(slope.asnumpy()).all()


def test_made_inside_a_program():
    @ms.jit
    def divergence(mean):
        made = msd.Normal(mean, 1.0)
        return made.kl_loss("Normal", Tensor([0.0]), Tensor([1.0]))

    np.testing.assert_allclose(divergence(Tensor([2.0])).asnumpy(), [2.0])


def test_a_distribution_of_the_users_own():
    class Triangle(msd.Distribution):
        def __init__(self, top=None):
            param = {"top": top, "param_dict": {"top": top}}
            super().__init__(None, ms.float32, "Triangle", param)
            self.top = self._add_parameter(top, "top")

        def _prob(self, value, top=None):
            return 2.0 * value / self._check_param_type(top) ** 2

        def _cdf(self, value, top=None):
            if value.sum() < 0:
                return ms.ops.zeros_like(value)
            return (value / self._check_param_type(top)) ** 2

        def _var(self, top=None):
            return self._check_param_type(top) ** 2 / 18.0

    made = Triangle([2.0])
    assert made.batch_shape == (1,)
    np.testing.assert_allclose(made.log_prob(Tensor([1.0])).asnumpy(), np.log([0.5]), rtol=1e-6)
    np.testing.assert_allclose(made.survival_function(Tensor([1.0])).asnumpy(), [0.75])
    np.testing.assert_allclose(
        made.log_survival(Tensor([1.0])).asnumpy(), np.log([0.75]), rtol=1e-6
    )
    np.testing.assert_allclose(made.sd().asnumpy(), [2 / np.sqrt(18)], rtol=1e-6)
    read = ms.jit(lambda v: made.cdf(v))
    assert read(Tensor([1.0])).asnumpy().tolist() == [0.25]
    assert read(Tensor([-1.0])).asnumpy().tolist() == [0.0]
    for missing in ("mean", "mode", "entropy", "sample", "get_dist_args", "get_dist_type"):
        with pytest.raises(NotImplementedError, match=f"Triangle: has no {missing}"):
            getattr(made, missing)()


def test_transformed_distributions():
    log_normal = msd.TransformedDistribution(msb.Exp(), msd.Normal(0.0, 1.0), seed=2)
    assert isinstance(log_normal.bijector, msb.Exp)
    assert isinstance(log_normal.distribution, msd.Normal)
    assert not log_normal.is_linear_transformation
    assert log_normal.dtype == ms.float32
    with pytest.raises(ValueError, match="not affine"):
        log_normal.mean()
    with pytest.raises(NotImplementedError, match="has no entropy"):
        log_normal.entropy()
    mirrored = msd.TransformedDistribution(msb.ScalarAffine(-1.0, 0.0), msd.Exponential(1.0))
    np.testing.assert_allclose(mirrored.cdf(Tensor([-1.0])).asnumpy(), [np.exp(-1)], rtol=1e-6)
    np.testing.assert_allclose(
        mirrored.log_survival(Tensor([-1.0])).asnumpy(), np.log([1 - np.exp(-1)]), rtol=1e-6
    )
    called = msb.Exp()(msd.Normal(0.0, 1.0))
    np.testing.assert_allclose(
        called.prob(Tensor([2.0])).asnumpy(), log_normal.prob(Tensor([2.0])).asnumpy()
    )


def test_classes():
    made = msd.Categorical([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    assert made.mean().shape == made.var().shape == (2, 1)
    assert made.log_prob(Tensor([[0], [1], [2]], ms.int32)).shape == (3, 2)
    asked = msd.Categorical([0.2, 0.3, 0.5])
    numbers = Tensor([-1, 0, 1, 2, 3], ms.int32)
    np.testing.assert_allclose(asked.cdf(numbers).asnumpy(), [0, 0.2, 0.5, 1, 1], rtol=1e-6)
    np.testing.assert_allclose(
        asked.prob(numbers).asnumpy(), [np.nan, 0.2, 0.3, 0.5, np.nan], rtol=1e-6
    )
    assert repr(asked) == "Categorical(probs = [0.2 0.3 0.5])"


BAD = [
    (lambda: msd.Normal(0.0, -1.0), ValueError, "Standard deviation: must be above 0"),
    (lambda: msd.Normal(0.0, 1.0, dtype=ms.int32), TypeError, "dtype"),
    (lambda: msd.Normal("a", 1.0), TypeError, "cannot be converted to a tensor"),
    (lambda: msd.Normal(0.0, 1.0, seed=-1), ValueError, "'seed' must be int and must >= 0"),
    (lambda: msd.Normal(0.0, 1.0, seed=1.5), TypeError, "'seed' must be int"),
    (lambda: msd.Normal(0.0, 1.0, name=3), TypeError, "'name' must be str"),
    (lambda: msd.Normal([0.0, 1.0], [1.0, 2.0, 3.0]), ValueError, "broadcast"),
    (
        lambda: msd.Normal(0.0, 1.0).log_prob(1.0),
        TypeError,
        "value: must be a Tensor",
    ),
    (lambda: msd.Normal(0.0, 1.0).mean(0.5), TypeError, "mean: is no Tensor"),
    (lambda: msd.Normal(0.0, 1.0).sample(3), TypeError, "shape must be a tuple"),
    (
        lambda: msd.Normal(0.0, 1.0).kl_loss("Foo", Tensor(0.0), Tensor(1.0)),
        ValueError,
        "Normal: can only be compared",
    ),
    (lambda: msd.Normal(0.0, 1.0).kl_loss("Normal"), TypeError, "mean_b"),
    (
        lambda: msd.LogNormal(0.0, 1.0).kl_loss("Normal", Tensor(0.0), Tensor(1.0)),
        ValueError,
        "LogNormal",
    ),
    (lambda: msd.Bernoulli(1.3), ValueError, "between 0 and 1"),
    (lambda: msd.Bernoulli(0.0), ValueError, "between 0 and 1"),
    (lambda: msd.Categorical([0.5, 0.6]), ValueError, "must sum to 1"),
    (lambda: msd.Categorical(0.5), ValueError, "one number"),
    (lambda: msd.Exponential(0.0), ValueError, "rate: must be above 0"),
    (lambda: msd.Uniform(2.0, 1.0), ValueError, "low must be below high"),
    (lambda: msd.Beta(2.0, 3.0), TypeError, "is a scalar"),
    (lambda: msd.Gamma(2.0, 3.0), TypeError, "is a scalar"),
    (lambda: msd.Poisson(2.0), TypeError, "is a scalar"),
    (lambda: msd.Gumbel(None, None), TypeError, "loc is None"),
    (lambda: msd.Gumbel(0.0, 0.0), ValueError, "scale: must be above 0"),
    (lambda: msd.Gumbel(0, 1, dtype=ms.int32), TypeError, "dtype"),
    (lambda: msd.StudentT(-1.0, 0.0, 1.0), ValueError, "Degrees of freedom"),
    (lambda: msd.Cauchy(0.0, 1.0).mean(), ValueError, "Cauchy: has no mean"),
    (lambda: msd.Cauchy(0.0, 1.0).sd(), ValueError, "has no standard deviation"),
    (lambda: msd.Logistic(0.0, 1.0).kl_loss("Logistic"), NotImplementedError, "has no kl_loss"),
    (
        lambda: msd.Logistic(0.0, 1.0).cross_entropy("Logistic"),
        NotImplementedError,
        "has no cross_entropy",
    ),
    (
        lambda: msd.Beta([1.0], [1.0]).cdf(Tensor(0.5)),
        NotImplementedError,
        "Beta: has no cdf",
    ),
    (
        lambda: msd.TransformedDistribution(3, msd.Normal()),
        TypeError,
        "'bijector' must be Bijector",
    ),
    (lambda: msd.TransformedDistribution(msb.Exp(), 3), TypeError, "'distribution' must be"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_errors(wrong, kind, message):
    with pytest.raises(kind, match=message):
        wrong()
