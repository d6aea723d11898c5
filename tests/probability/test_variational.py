"""Variational autoencoders and their training."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn
from mycelia.nn.probability.dpn import VAE, ConditionalVAE
from mycelia.nn.probability.infer import ELBO, SVI
from tests.goldens.layer_runs import draw


def test_the_bound_by_hand():
    parts = [draw((2, 3), n, 0.5, 2) for n in range(4)]
    recon, x, mean, sd = (p.astype(np.float64) for p in parts)
    divergence = 0.5 * (sd**2 + mean**2 - 1 - np.log(sd**2))
    expected = ((x - recon) ** 2).sum() + divergence.sum()
    found = ELBO()(tuple(Tensor(p) for p in parts), None)
    np.testing.assert_allclose(float(found), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="latent_prior"):
        ELBO(latent_prior="Cauchy")


@pytest.mark.slow
def test_training_an_autoencoder(graph_mode: None):
    ms.set_seed(1)
    coder = VAE(nn.Dense(6, 5), nn.Dense(5, 6), 5, 2)
    x = Tensor(draw((4, 6), 1))
    out, same, mean, deviation = coder(x)
    assert (out.shape, mean.shape, deviation.shape) == ((4, 6), (4, 2), (4, 2))
    assert (same.asnumpy() == x.asnumpy()).all()
    assert (deviation.asnumpy() > 0).all()
    joined = nn.WithLossCell(coder, ELBO())
    inference = SVI(joined, nn.Adam(joined.trainable_params(), 0.02))
    inference.run([(x, x)], epochs=1)
    before = inference.get_train_loss()
    assert inference.run([(x, x)], epochs=40) is joined
    assert inference.get_train_loss() < 0.7 * before
    assert coder.generate_sample(3, (3, 2, 3)).shape == (3, 2, 3)
    assert coder.reconstruct_sample(x).shape == (4, 6)


def test_autoencoders_that_know_the_class():
    coder = ConditionalVAE(nn.Dense(6, 5), nn.Dense(5, 6), 5, 2, 3)
    x, y = Tensor(draw((4, 6), 1)), Tensor([0, 1, 2, 1], ms.int32)
    assert [part.shape for part in coder(x, y)] == [(4, 6), (4, 6), (4, 2), (4, 2)]
    assert coder.generate_sample(y, 4, (2, 12)).shape == (2, 12)
    assert coder.reconstruct_sample(x, y).shape == (4, 6)
    assert coder.dense1.weight.shape == (2, 8)


def test_a_dataset_gives_tuples():
    class Data:
        def create_tuple_iterator(self, num_epochs):
            return iter([(Tensor(draw((2, 6), 1)), Tensor(draw((2, 6), 1)))] * num_epochs)

    joined = nn.WithLossCell(VAE(nn.Dense(6, 5), nn.Dense(5, 6), 5, 2), ELBO())
    inference = SVI(joined, nn.SGD(joined.trainable_params(), 0.001))
    inference.run(Data(), 2)
    assert inference.get_train_loss() > 0


def test_errors():
    with pytest.raises(TypeError, match="encoder"):
        VAE(3, nn.ReLU(), 2, 2)
    with pytest.raises(ValueError, match="latent_size"):
        VAE(nn.ReLU(), nn.ReLU(), 2, 0)
    with pytest.raises(ValueError, match="num_classes"):
        ConditionalVAE(nn.ReLU(), nn.ReLU(), 2, 2, 0)
    with pytest.raises(TypeError, match="optimizer"):
        SVI(nn.ReLU(), 3)
