"""Bayesian layers: draws, divergences, training."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia.nn.probability import bnn_layers
from tests.goldens.layer_runs import draw


def _divergence(layer) -> float:
    """KL(prior || posterior) by hand: the prior is normal with mean 0 and deviation 0.1."""
    found = 0.0
    for posterior in (layer.weight_posterior, layer.bias_posterior):
        mean = posterior.mean.asnumpy().astype(np.float64)
        sd = np.log1p(np.exp(posterior.untransformed_std.asnumpy().astype(np.float64)))
        found += (np.log(sd / 0.1) + (0.01 + mean**2) / (2 * sd**2) - 0.5).sum()
    return found


def test_prior():
    prior = bnn_layers.NormalPrior()
    assert float(prior("mean")) == 0.0
    expected = -0.5 * 100 - np.log(0.1) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(prior("log_prob", Tensor([1.0])).asnumpy(), [expected], rtol=1e-5)


def test_posterior():
    posterior = bnn_layers.NormalPosterior("w", (400,))
    assert [p.name for p in posterior.trainable_params()] == ["w_mean", "w_untransformed_std"]
    mean, deviation = posterior("get_dist_args")
    assert abs(mean.asnumpy().std() - 0.1) < 0.03
    np.testing.assert_allclose(deviation.asnumpy().mean(), np.log1p(np.exp(-5)), rtol=0.1)
    spread = (posterior("sample") - mean).asnumpy() / deviation.asnumpy()
    assert abs(spread.std() - 1) < 0.2
    assert posterior("get_dist_type") == "Normal"
    assert posterior("sample", (3,)).shape == (3, 400)


LAYERS = {
    "DenseReparam": (lambda: bnn_layers.DenseReparam(3, 4), (2, 3), (2, 4)),
    "DenseLocalReparam": (lambda: bnn_layers.DenseLocalReparam(3, 4), (2, 3), (2, 4)),
    "ConvReparam": (
        lambda: bnn_layers.ConvReparam(3, 4, 3, has_bias=True),
        (2, 3, 5, 5),
        (2, 4, 5, 5),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_outputs_and_divergence(name: str):
    make, inner, outer = LAYERS[name]
    layer, x = make(), Tensor(draw(inner, 1))
    first, second = layer(x), layer(x)
    assert first.shape == outer
    assert (first.asnumpy() != second.asnumpy()).any()
    np.testing.assert_allclose(float(layer.compute_kl_loss()), _divergence(layer), rtol=1e-3)


@pytest.mark.parametrize("make", [bnn_layers.DenseReparam, bnn_layers.DenseLocalReparam])
def test_outputs_have_the_mean_and_spread_of_the_posterior(make):
    ms.set_seed(2)
    layer, x = make(3, 2, has_bias=False), draw((1, 3), 1)
    drawn = np.stack([layer(Tensor(x)).asnumpy()[0] for _ in range(300)])
    mean, deviation = (v.asnumpy() for v in layer.weight_posterior("get_dist_args"))
    spread = np.sqrt((x**2) @ (deviation**2).T)[0]
    np.testing.assert_allclose(drawn.mean(0), (x @ mean.T)[0], atol=5 * spread.max() / 17)
    np.testing.assert_allclose(drawn.std(0), spread, rtol=0.2)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = bnn_layers.ConvReparam(1, 2, 3, pad_mode="pad", padding=1, has_bias=True)
        self.flatten = nn.Flatten()
        self.hidden = bnn_layers.DenseReparam(32, 4, activation="relu")
        self.last = bnn_layers.DenseLocalReparam(4, 1)

    def construct(self, x):
        return self.last(self.hidden(self.flatten(self.conv(x))))


@pytest.mark.slow
def test_training(graph_mode: None):
    joined = bnn_layers.WithBNNLossCell(Network(), nn.MSELoss(), 1, 0.1)
    assert "conv.weight_posterior.mean" in [p.name for p in joined.trainable_params()]
    assert isinstance(joined.backbone_network, Network)
    step = nn.TrainOneStepCell(joined, nn.Adam(joined.trainable_params(), 0.02))
    x, y = Tensor(draw((2, 1, 4, 4), 1)), Tensor(draw((2, 1), 2))
    losses = [float(step(x, y)) for _ in range(6)]
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("make", [bnn_layers.DenseReparam, bnn_layers.DenseLocalReparam])
def test_gradients_reach_means_and_deviations(make):
    layer = make(3, 2)
    weights = layer.trainable_params()
    found = ms.grad(lambda x: layer(x).sum(), None, weights)(Tensor(draw((4, 3), 1)))
    assert [g.shape for g in found] == [w.shape for w in weights]
    assert all(np.isfinite(g.asnumpy()).all() and g.asnumpy().any() for g in found)


def test_the_loss_is_the_weighted_sum():
    layer = bnn_layers.DenseReparam(3, 1)
    nothing = bnn_layers.WithBNNLossCell(layer, lambda out, label: label.sum(), 2, 0.5)
    expected = 2 * 3.0 + 0.5 * _divergence(layer)
    np.testing.assert_allclose(
        float(nothing(Tensor(draw((2, 3), 1)), Tensor([1.0, 2.0]))), expected, rtol=1e-3
    )


def test_priors_and_posteriors_of_the_users_own():
    prior = bnn_layers.NormalPrior(mean=0.0, std=2.0)

    def posterior(name, shape):
        return bnn_layers.NormalPosterior(name, shape, untransformed_scale_mean=0.0)

    layer = bnn_layers.DenseReparam(3, 2, weight_prior_fn=prior, weight_posterior_fn=posterior)
    assert layer.weight_prior is prior
    np.testing.assert_allclose(
        layer.weight_posterior("get_dist_args")[1].asnumpy().mean(), np.log(2), atol=0.1
    )


BAD = [
    (lambda: bnn_layers.NormalPosterior(3, (3,)), TypeError, "wrong name"),
    (lambda: bnn_layers.NormalPosterior("w", 3), TypeError, "wrong shape"),
    (lambda: bnn_layers.NormalPosterior("w", (3,), loc_mean="a"), TypeError, "loc_mean"),
    (
        lambda: bnn_layers.NormalPosterior("w", (3,), untransformed_scale_std=-1.0),
        TypeError,
        "above 0",
    ),
    (lambda: bnn_layers.NormalPrior(std=-1.0), ValueError, "Standard deviation"),
    (lambda: bnn_layers.DenseReparam("a", 3), TypeError, "in_channels"),
    (lambda: bnn_layers.DenseReparam(3, 3, weight_prior_fn=3), TypeError, "weight_prior_fn"),
    (
        lambda: bnn_layers.DenseReparam(3, 3, weight_posterior_fn=lambda name, shape: 3),
        TypeError,
        "weight_posterior_fn",
    ),
    (lambda: bnn_layers.ConvReparam(3, 4, 3, pad_mode="x"), ValueError, "pad_mode"),
    (lambda: bnn_layers.ConvReparam(3, 4, 3, group=2), ValueError, "groups"),
    (lambda: bnn_layers.WithBNNLossCell(nn.ReLU(), nn.MSELoss(), "a"), TypeError, "dnn_factor"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_errors(wrong, kind, message):
    with pytest.raises(kind, match=message):
        wrong()
